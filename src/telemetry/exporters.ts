import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { OtlpSettings } from './settings.ts';

/** The exporter of spans; that of the other protocol is not loaded. */
export async function spanExporter({ protocol, url }: OtlpSettings): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'grpc'
      ? await import('@opentelemetry/exporter-trace-otlp-grpc')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter(url === undefined ? {} : { url });
}

export async function metricExporter({ protocol, url }: OtlpSettings): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } =
    protocol === 'grpc'
      ? await import('@opentelemetry/exporter-metrics-otlp-grpc')
      : await import('@opentelemetry/exporter-metrics-otlp-proto');
  return new OTLPMetricExporter(url === undefined ? {} : { url });
}
