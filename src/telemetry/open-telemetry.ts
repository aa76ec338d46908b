/**
 * The SDK of OpenTelemetry, wired. Loaded by main.ts, and only where something is configured: nothing else in src/
 * imports more than the API.
 */
import type { Meter, Sampler, Tracer } from '@opentelemetry/api';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { type IMetricReader, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { TELEMETRY_FLUSH_MS } from '../core/limits.ts';
import { unreachable } from '../core/unreachable.ts';
import type { Clock, Observer } from '../engine/ports.ts';
import { createDiagnostics } from './diagnostics.ts';
import { metricExporter, spanExporter } from './exporters.ts';
import { type MetricsEndpoint, openMetricsEndpoint } from './metrics-endpoint.ts';
import type { SamplerSettings, TelemetrySettings } from './settings.ts';

export interface OpenTelemetry {
  readonly traces: Traces | undefined;
  readonly meter: Meter | undefined;
  /** HOST:PORT of the Prometheus endpoint. */
  readonly metricsAddress: string | undefined;
  /** Sends what waits, for TELEMETRY_FLUSH_MS or the time of one export at most, and closes. Never rejects. */
  stop(): Promise<void>;
}

export interface Traces {
  readonly tracer: Tracer;
  readonly sampler: Sampler;
  readonly preset: (ids: SpanIds) => void;
}

export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

export interface OpenTelemetryOptions {
  readonly settings: TelemetrySettings;
  readonly version: string;
  readonly observer: Observer;
  readonly clock: Clock;
}

const SCOPE = 'spindle';

/** Rejects where the Prometheus endpoint cannot be listened on. A collector that does not answer stops nothing. */
export async function startOpenTelemetry(options: OpenTelemetryOptions): Promise<OpenTelemetry> {
  const { settings, version, observer, clock } = options;
  diag.setLogger(createDiagnostics(observer, clock.now), {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  });
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SCOPE, 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }));

  let tracerProvider: TracerProvider | undefined;
  let traces: Traces | undefined;
  if (settings.traces !== undefined) {
    const ids = createPresetIds();
    const sampler = samplerOf(settings.sampler);
    const exporter = await spanExporter(settings.traces);
    const processor = new BatchSpanProcessor({ exporter, ...settings.batch });
    tracerProvider = new TracerProvider({ resource, sampler, idGenerator: ids, spanProcessors: [processor] });
    traces = { tracer: tracerProvider.getTracer(SCOPE, version), sampler, preset: ids.preset };
  }

  const readers: IMetricReader[] = [];
  if (settings.metrics !== undefined) {
    const exporter = await metricExporter(settings.metrics);
    readers.push(
      new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: settings.metrics.intervalMs }),
    );
  }
  let endpoint: MetricsEndpoint | undefined;
  if (settings.prometheus !== undefined) {
    endpoint = await openMetricsEndpoint(settings.prometheus);
    readers.push(endpoint.reader);
  }
  const meterProvider = readers.length === 0 ? undefined : new MeterProvider({ resource, readers });

  return {
    traces,
    meter: meterProvider?.getMeter(SCOPE, version),
    metricsAddress: endpoint?.address,
    async stop() {
      const closing = [tracerProvider?.shutdown(), meterProvider?.shutdown(), endpoint?.close()];
      const timeUp = Promise.withResolvers<'time up'>();
      // It keeps the process alive, as the connection to a collector does not.
      const boundMs = Math.min(TELEMETRY_FLUSH_MS, settings.batch.exportTimeoutMillis);
      const timer = setTimeout(() => timeUp.resolve('time up'), boundMs);
      const closed = await Promise.race([Promise.allSettled(closing), timeUp.promise]);
      clearTimeout(timer);
      const isLost = closed === 'time up' || closed.some(({ status }) => status === 'rejected');
      if (isLost)
        observer.report('warn', 'telemetry_lost', { hint: 'the collector did not take what was left' });
    },
  };
}

function samplerOf({ kind, ratio }: SamplerSettings): Sampler {
  switch (kind) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
    default:
      return unreachable(kind);
  }
}

/** Gives the next span the ids that were set for it: they follow from the log, and not from chance (8.2). */
function createPresetIds() {
  let next: SpanIds | undefined;
  const take = (id: keyof SpanIds): string => {
    if (next === undefined) throw new Error('a span was started without ids');
    return next[id];
  };
  return {
    preset: (ids: SpanIds): void => {
      next = ids;
    },
    generateTraceId: () => take('traceId'),
    generateSpanId: () => take('spanId'),
  };
}
