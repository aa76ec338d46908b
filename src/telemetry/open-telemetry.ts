/**
 * The SDK of OpenTelemetry, wired. Loaded by main.ts, and only where something is configured: nothing else in src/
 * imports more than the API.
 */
import {
  DiagLogLevel,
  diag,
  type HrTime,
  type Meter,
  type Sampler,
  type SpanStatus,
  SpanStatusCode,
} from '@opentelemetry/api';
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
  type ReadableSpan,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import { TELEMETRY_FLUSH_MS } from '../core/limits.ts';
import { unreachable } from '../core/unreachable.ts';
import type { Clock, Observer } from '../engine/ports.ts';
import { createDiagnostics } from './diagnostics.ts';
import { metricExporter, spanExporter } from './exporters.ts';
import { type MetricsEndpoint, openMetricsEndpoint, type ScrapeGate } from './metrics-endpoint.ts';
import type { SamplerSettings, TelemetrySettings } from './settings.ts';
import type { FinishedSpan, SpansOptions } from './spans.ts';

export interface OpenTelemetry {
  readonly traces: Traces | undefined;
  readonly meter: Meter | undefined;
  /** HOST:PORT of the Prometheus endpoint. */
  readonly metricsAddress: string | undefined;
  /** Sends what waits, for TELEMETRY_FLUSH_MS or the time of one export at most, and closes. Never rejects. */
  stop(): Promise<void>;
}

export type Traces = Pick<SpansOptions, 'sampler' | 'export'>;

export interface OpenTelemetryOptions {
  readonly settings: TelemetrySettings;
  readonly version: string;
  readonly observer: Observer;
  readonly clock: Clock;
  readonly gate: ScrapeGate;
}

const SCOPE = 'spindle';

/** Rejects where the Prometheus endpoint cannot be listened on. A collector that does not answer stops nothing. */
export async function startOpenTelemetry(options: OpenTelemetryOptions): Promise<OpenTelemetry> {
  const { settings, version, observer, clock, gate } = options;
  diag.setLogger(createDiagnostics(observer, clock.now), {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  });
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SCOPE, 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }));

  let processor: BatchSpanProcessor | undefined;
  let traces: Traces | undefined;
  if (settings.traces !== undefined) {
    const batches = new BatchSpanProcessor({
      exporter: await spanExporter(settings.traces),
      ...settings.batch,
    });
    const instrumentationScope = { name: SCOPE, version };
    processor = batches;
    traces = {
      sampler: samplerOf(settings.sampler),
      export: (span) => batches.onEnd(readable(span, { resource, instrumentationScope })),
    };
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
    endpoint = await openMetricsEndpoint(settings.prometheus, gate, observer);
    readers.push(endpoint.reader);
  }
  const meterProvider = readers.length === 0 ? undefined : new MeterProvider({ resource, readers });

  return {
    traces,
    meter: meterProvider?.getMeter(SCOPE, version),
    metricsAddress: endpoint?.address,
    async stop() {
      const closing = [processor?.shutdown(), meterProvider?.shutdown(), endpoint?.close()];
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

/** A span as the exporters take it. It is made when it is over, so that the SDK's own, which live, are not needed. */
function readable(
  { name, kind, context, parent, startTime, endTime, attributes, events, error }: FinishedSpan,
  about: Pick<ReadableSpan, 'resource' | 'instrumentationScope'>,
): ReadableSpan {
  return {
    name,
    kind,
    spanContext: () => context,
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    startTime,
    endTime,
    duration: elapsed(startTime, endTime),
    ended: true,
    attributes,
    events: [...events],
    links: [],
    status: error === undefined ? UNSET : { code: SpanStatusCode.ERROR, message: error },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    ...about,
  };
}

const UNSET: SpanStatus = { code: SpanStatusCode.UNSET };

function elapsed([fromSeconds, fromNanos]: HrTime, [toSeconds, toNanos]: HrTime): HrTime {
  const nanos = toNanos - fromNanos;
  return nanos < 0 ? [toSeconds - fromSeconds - 1, nanos + 1e9] : [toSeconds - fromSeconds, nanos];
}
