/** Callers for long runs: so many calls as it is allowed, over clients that come and go. */
import { type Client, createClient } from '../../../../src/sdk/index.ts';
import { onOrder, programOptions, tell } from './reports.ts';
import { AGAIN } from './work.ts';

export interface SoakCallerProgram {
  readonly address: string;
  readonly inFlight: number;
  /** Then a client is closed, and another takes its place. */
  readonly callsPerClient: number;
}

const PATIENCE_MS = 3_600_000;

const { address, inFlight, callsPerClient } = programOptions<SoakCallerProgram>();
let made = 0;

async function callThrough(client: Client, until: number): Promise<void> {
  while (made < until) {
    made += 1;
    const number = made;
    const result = await client.call(AGAIN, { number });
    if (!result.ok || result.text !== `${number}`)
      throw new Error(`call ${number} ended with ${JSON.stringify(result)}`);
  }
}

async function callUpTo(allowed: number): Promise<void> {
  while (made < allowed) {
    await using client = createClient({ address, unavailableAfterMs: PATIENCE_MS });
    const until = Math.min(allowed, made + callsPerClient);
    await Promise.all(Array.from({ length: inFlight }, () => callThrough(client, until)));
  }
  tell({ kind: 'reached', calls: made });
}

onOrder((order) => {
  if (order.kind !== 'allow') return;
  callUpTo(order.calls).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
