import type { Duration } from '@bufbuild/protobuf/wkt';
import type { CallEvidence } from './evidence.ts';

/** What section 4 allows a call, from what was asked for and what the tools declare. */
export interface Expectation {
  readonly safeToRepeat: boolean;
  readonly maxAttempts: number;
  readonly queueTimeout: number;
  readonly runTimeout: number;
  readonly totalTimeout: number;
  readonly heartbeatTimeout: number | undefined;
}

/** Worker tools, in milliseconds (4.1). */
export const CALL_DEFAULTS = { queueTimeout: 60_000, runTimeout: 120_000, totalTimeout: 600_000 } as const;
/** The layer of this deployment, which makes no tool safe to repeat (4.2). */
const DEPLOYMENT_ATTEMPTS = 3;

/** The tools of the simulated workers that declare something about repeating. */
const DECLARED: Readonly<Record<string, { readonly safe: boolean; readonly attempts?: number }>> = {
  safe: { safe: true, attempts: 4 },
  narrow: { safe: true },
};

/** Undefined for calls that are no part of the workload. */
export function expectationOf({ intent, requested, records }: CallEvidence): Expectation | undefined {
  if (intent === undefined || requested === undefined) return undefined;
  // A call that came before its tool takes the tool's terms at its first dispatch (4.11).
  const dispatched = records.some(({ event }) => event.kind.case === 'toolCallDispatched');
  const declared = requested.toolDigest !== '' || dispatched ? DECLARED[intent.tool] : undefined;
  const { retry } = intent;
  return {
    safeToRepeat: declared?.safe === true || (retry?.maxAttempts ?? 0) > 1,
    maxAttempts: retry?.maxAttempts ?? declared?.attempts ?? DEPLOYMENT_ATTEMPTS,
    queueTimeout: optional(retry?.queueTimeout) ?? CALL_DEFAULTS.queueTimeout,
    runTimeout: optional(retry?.runTimeout) ?? CALL_DEFAULTS.runTimeout,
    totalTimeout: optional(retry?.totalTimeout) ?? CALL_DEFAULTS.totalTimeout,
    heartbeatTimeout: optional(retry?.heartbeatTimeout),
  };
}

export function millis(length: Duration | undefined): number {
  return length === undefined ? 0 : Number(length.seconds) * 1_000 + length.nanos / 1e6;
}

function optional(length: Duration | undefined): number | undefined {
  return length === undefined ? undefined : millis(length);
}
