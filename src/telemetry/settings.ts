import {
  MAX_QUEUED_SPANS,
  METRIC_EXPORT_INTERVAL_MS,
  SPAN_EXPORT_DELAY_MS,
  SPAN_EXPORT_TIMEOUT_MS,
  SPANS_PER_EXPORT,
} from '../core/limits.ts';
import type { Millis } from '../core/time.ts';

/** What the standard variables of OpenTelemetry ask for (8.7). */
export interface TelemetrySettings {
  /** Where spans go; undefined: nowhere. */
  readonly traces: OtlpSettings | undefined;
  readonly metrics: (OtlpSettings & { readonly intervalMs: Millis }) | undefined;
  /** HOST:PORT of the Prometheus endpoint; undefined: there is none. */
  readonly prometheus: string | undefined;
  readonly sampler: SamplerSettings;
  readonly batch: BatchSettings;
  /** Variables whose value cannot be used, and what was taken in its place. As the standard asks, they stop nothing. */
  readonly ignored: readonly IgnoredVariable[];
}

export interface OtlpSettings {
  readonly protocol: 'grpc' | 'http/protobuf';
  /** Undefined: the default of the standard. Headers, certificates and time limits are read by the exporters. */
  readonly url: string | undefined;
}

export interface SamplerSettings {
  readonly kind: (typeof SAMPLERS)[number];
  /** Of those that sample by the trace's id: the share that is kept, from 0 to 1. */
  readonly ratio: number;
}

export interface BatchSettings {
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
  readonly scheduledDelayMillis: Millis;
  readonly exportTimeoutMillis: Millis;
}

export interface IgnoredVariable {
  readonly variable: string;
  readonly expected: string;
}

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** By their names: `OTEL_TRACES_SAMPLER`, say. */
export type Variables = Readonly<Record<string, string | undefined>>;

export function telemetrySettings(variables: Variables, prometheus?: string): TelemetrySettings {
  const ignored: IgnoredVariable[] = [];
  const read = createReader(variables, ignored);
  const isDisabled = read.choice('OTEL_SDK_DISABLED', ['true', 'false']) === 'true';
  const exporters = (signal: 'TRACES' | 'METRICS', possible: readonly string[]): readonly string[] => {
    const named = read.list(`OTEL_${signal}_EXPORTER`, possible);
    if (named !== undefined) return named;
    // The standard's own default is a collector on this machine. Who names none of this does not wait for one.
    const isMeant = endpointOf(variables, signal) !== undefined;
    return isMeant ? ['otlp'] : [];
  };
  const otlp = (signal: 'TRACES' | 'METRICS'): OtlpSettings => {
    const possible = ['grpc', 'http/protobuf'] as const;
    const own = read.choice(`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, possible);
    const protocol = own ?? read.choice('OTEL_EXPORTER_OTLP_PROTOCOL', possible) ?? 'http/protobuf';
    return { protocol, url: urlOf(variables, signal, protocol) };
  };
  const traceExporters = isDisabled ? [] : exporters('TRACES', ['otlp', 'none']);
  const metricExporters = isDisabled ? [] : exporters('METRICS', ['otlp', 'prometheus', 'none']);
  const intervalMs = read.positive('OTEL_METRIC_EXPORT_INTERVAL') ?? METRIC_EXPORT_INTERVAL_MS;
  const scrape = metricExporters.includes('prometheus') ? prometheusAddress(variables) : undefined;
  const settings: Omit<TelemetrySettings, 'ignored'> = {
    traces: traceExporters.includes('otlp') ? otlp('TRACES') : undefined,
    metrics: metricExporters.includes('otlp') ? { ...otlp('METRICS'), intervalMs } : undefined,
    prometheus: prometheus ?? scrape,
    sampler: {
      kind: read.choice('OTEL_TRACES_SAMPLER', SAMPLERS) ?? 'parentbased_always_on',
      ratio: read.ratio('OTEL_TRACES_SAMPLER_ARG') ?? 1,
    },
    batch: {
      maxQueueSize: read.positive('OTEL_BSP_MAX_QUEUE_SIZE') ?? MAX_QUEUED_SPANS,
      maxExportBatchSize: read.positive('OTEL_BSP_MAX_EXPORT_BATCH_SIZE') ?? SPANS_PER_EXPORT,
      scheduledDelayMillis: read.positive('OTEL_BSP_SCHEDULE_DELAY') ?? SPAN_EXPORT_DELAY_MS,
      exportTimeoutMillis: read.positive('OTEL_BSP_EXPORT_TIMEOUT') ?? SPAN_EXPORT_TIMEOUT_MS,
    },
  };
  return { ...settings, ignored };
}

/** Whether there is anything to load the SDK for. */
export function isWanted({ traces, metrics, prometheus }: TelemetrySettings): boolean {
  return traces !== undefined || metrics !== undefined || prometheus !== undefined;
}

function endpointOf(variables: Variables, signal: string): string | undefined {
  return (
    variables[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] ||
    variables['OTEL_EXPORTER_OTLP_ENDPOINT'] ||
    undefined
  );
}

/** Over HTTP the common endpoint is a base, below which each signal has its path. */
function urlOf(variables: Variables, signal: 'TRACES' | 'METRICS', protocol: string): string | undefined {
  const endpoint = endpointOf(variables, signal);
  if (endpoint === undefined || protocol === 'grpc' || variables[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`])
    return endpoint;
  return `${endpoint.replace(/\/$/, '')}/v1/${signal.toLowerCase()}`;
}

function prometheusAddress(variables: Variables): string {
  const host = variables['OTEL_EXPORTER_PROMETHEUS_HOST'] || 'localhost';
  return `${host.includes(':') ? `[${host}]` : host}:${variables['OTEL_EXPORTER_PROMETHEUS_PORT'] || '9464'}`;
}

function createReader(variables: Variables, ignored: IgnoredVariable[]) {
  const text = (variable: string): string => (variables[variable] ?? '').trim();
  const number = (
    variable: string,
    expected: string,
    fits: (value: number) => boolean,
  ): number | undefined => {
    const given = text(variable);
    if (given === '') return undefined;
    const value = Number(given);
    if (fits(value)) return value;
    ignored.push({ variable, expected });
    return undefined;
  };
  return {
    choice<T extends string>(variable: string, possible: readonly T[]): T | undefined {
      const given = text(variable).toLowerCase();
      if (given === '') return undefined;
      const found = possible.find((value) => value === given);
      if (found === undefined) ignored.push({ variable, expected: possible.join(', ') });
      return found;
    },
    list(variable: string, possible: readonly string[]): readonly string[] | undefined {
      const given = text(variable).toLowerCase();
      if (given === '') return undefined;
      const named = given.split(',').map((name) => name.trim());
      if (named.every((name) => possible.includes(name))) return named;
      ignored.push({ variable, expected: possible.join(', ') });
      return undefined;
    },
    positive: (variable: string) =>
      number(variable, 'a positive integer', (value) => Number.isSafeInteger(value) && value > 0),
    ratio: (variable: string) =>
      number(variable, 'a number from 0 to 1', (value) => value >= 0 && value <= 1),
  };
}
