/** A service that calls tools through the SDK's client as often as it is allowed to, and gives no call up. */
import { createClient, SpindleError } from '../../../../src/sdk/index.ts';
import { seenEnd } from './ends.ts';
import { onOrder, programOptions, tell } from './reports.ts';
import { seededDraw } from './seeded-draw.ts';
import { AGAIN, ONCE, type WorkArguments } from './work.ts';

export interface CallerProgram {
  readonly address: string;
  readonly seed: number;
  /** Names its calls, `PREFIX-1` and on. */
  readonly prefix: string;
  readonly calls: number;
  /** The most calls at once. */
  readonly inFlight: number;
  /** The longest time that a handler takes before its effect, and after it. */
  readonly maxHoldMs: number;
}

const PATIENCE_MS = 3_600_000;

const { address, seed, prefix, calls, inFlight, maxHoldMs } = programOptions<CallerProgram>();
const draw = seededDraw(seed);
const client = createClient({ address, unavailableAfterMs: PATIENCE_MS });
const hold = (): number => Math.floor(draw() * (maxHoldMs + 1));
let started = 0;
let allowed = 0;
let more = Promise.withResolvers<void>();
onOrder((order) => {
  if (order.kind !== 'allow') return;
  allowed = order.calls;
  more.resolve();
  more = Promise.withResolvers();
});

async function callOn(): Promise<void> {
  for (;;) {
    while (started >= allowed && started < calls) await more.promise;
    if (started >= calls) return;
    started += 1;
    const callId = `${prefix}-${started}`;
    const args: WorkArguments = { number: started, beforeMs: hold(), afterMs: hold() };
    const name = draw() < 0.5 ? ONCE : AGAIN;
    try {
      const result = await client.call(name, { ...args }, { callId });
      tell({ kind: 'end', callId, end: seenEnd(result) });
    } catch (error) {
      if (!(error instanceof SpindleError)) throw error;
      tell({ kind: 'refused', callId, reason: `${error.code} ${error.reason}: ${error.message}` });
    }
  }
}

await Promise.all(Array.from({ length: inFlight }, callOn));
await client.close();
process.exit(0);
