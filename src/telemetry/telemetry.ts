import type { Call } from '../core/call.ts';
import type { Instant } from '../core/time.ts';
import { unreachable } from '../core/unreachable.ts';
import type { Clock, Journal, Observer, WorkersStanding } from '../engine/ports.ts';
import { createContentRecorder, REDACTED_NAMES } from './content.ts';
import { type CallState, observeStanding } from './gauges.ts';
import { measuredJournal } from './measured-journal.ts';
import { createMetrics } from './metrics.ts';
import type { ScrapeGate } from './metrics-endpoint.ts';
import { type ActivityRecorder, createRecorder } from './recorder.ts';
import { isWanted, telemetrySettings, type Variables } from './settings.ts';
import { createSpans } from './spans.ts';

export interface TelemetryOptions {
  /** The standard variables of OpenTelemetry, by their names: `OTEL_EXPORTER_OTLP_ENDPOINT`, say. */
  readonly variables?: Variables;
  /** HOST:PORT of an endpoint for Prometheus, with the path /metrics. Port 0 lets the system choose. */
  readonly metrics?: string;
  /** Whose operators may read these: they are of all tenants. Default: the tenant `default`. */
  readonly metricsTenant?: string;
  /** Let whoever reaches the endpoint read it, though other callers have to prove who they are (9.2). Default: no. */
  readonly openMetrics?: boolean;
  /** Arguments and results become attributes of spans, capped. Default: no (8.5). */
  readonly recordContent?: boolean;
  /** Members of JSON objects whose name holds one of these are left out of them. Default: REDACTED_NAMES. */
  readonly redact?: readonly string[];
}

export interface Telemetry {
  readonly recorder: ActivityRecorder;
  readonly metricsAddress: string | undefined;
  /** The same journal, measured. */
  measured(journal: Journal): Journal;
  /** From now on, what stands can be asked for. */
  observe(standing: { readonly calls: () => Iterable<Call>; readonly workers: () => WorkersStanding }): void;
  /** Sends what waits, within its bound (8.7). Never rejects. */
  stop(): Promise<void>;
}

export interface TelemetryPlace {
  readonly version: string;
  readonly observer: Observer;
  readonly clock: Clock;
  /** In front of the endpoint for Prometheus. */
  readonly gate: ScrapeGate;
}

/**
 * Spans and metrics, as they are configured; undefined where nothing is, and then no SDK is loaded. Rejects where the
 * endpoint for Prometheus cannot be listened on.
 */
export async function openTelemetry(
  options: TelemetryOptions,
  { version, observer, clock, gate }: TelemetryPlace,
): Promise<Telemetry | undefined> {
  const settings = telemetrySettings(options.variables ?? {}, options.metrics);
  for (const { variable, expected } of settings.ignored)
    observer.report('warn', 'telemetry_setting_ignored', { variable, expected });
  if (!isWanted(settings)) return undefined;
  const { startOpenTelemetry } = await import('./open-telemetry.ts');
  const { traces, meter, metricsAddress, stop } = await startOpenTelemetry({
    settings,
    version,
    observer,
    clock,
    gate,
  });
  const content =
    options.recordContent === true
      ? createContentRecorder({ redact: options.redact ?? REDACTED_NAMES })
      : undefined;
  const spans = traces && createSpans({ ...traces, content });
  const metrics = meter && createMetrics(meter);
  return {
    recorder: createRecorder({
      sinks: [...(spans === undefined ? [] : [spans]), ...(metrics === undefined ? [] : [metrics])],
      contextOf: spans?.contextOf,
      observer,
    }),
    metricsAddress,
    measured: (journal) => (meter === undefined ? journal : measuredJournal(journal, meter, clock.now)),
    observe({ calls, workers }) {
      if (meter === undefined) return;
      const standing = {
        *calls() {
          const now = clock.now();
          for (const call of calls()) {
            const state = stateOf(call, now);
            if (state !== undefined) yield { toolName: isDeclared(call) ? call.name : undefined, state };
          }
        },
        workers,
      };
      observeStanding(meter, standing);
    },
    stop,
  };
}

function isDeclared({ toolDigest, leases }: Call): boolean {
  return toolDigest !== '' || leases.some((lease) => lease.toolDigest !== '');
}

/** Undefined where the call has ended. */
function stateOf({ phase }: Call, now: Instant): CallState | undefined {
  switch (phase.kind) {
    case 'held':
      return 'held';
    case 'waiting':
      return phase.from > now ? 'backing_off' : 'queued';
    case 'dispatched':
      return 'running';
    case 'open':
      return 'open';
    case 'interrupted':
      return 'interrupted';
    case 'finished':
      return undefined;
    default:
      return unreachable(phase);
  }
}
