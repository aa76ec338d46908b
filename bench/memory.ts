import { slope } from './statistics.ts';
import { startTrio, type Trio } from './throughput.ts';
import { ECHO, HOLD, MAX_IN_FLIGHT } from './tools.ts';

export interface MemoryUse {
  /** Bytes of the engine's memory for a call that a worker has. */
  readonly bytesPerRunningCall: number;
  /** Bytes for a call that waits for a worker. */
  readonly bytesPerWaitingCall: number;
  /** Calls that ended while the engine was watched for leaks. */
  readonly calls: number;
  /** How much the engine's live memory grew with each of them, in bytes: 0 but for noise. */
  readonly bytesPerEndedCall: number;
  /** Sockets, timers and the like, before and after. */
  readonly handlesBefore: number;
  readonly handlesAfter: number;
}

/**
 * How much memory calls take, with SQLite: there the engine keeps nothing of a call that ended, but for the
 * last thousand, while a journal in memory is meant to keep a hundred thousand.
 *
 * @param calls in all, in SAMPLES equal parts
 */
export async function measureMemory(calls: number, directory?: string): Promise<MemoryUse> {
  const trio = await startTrio('sqlite', directory);
  try {
    const leak = await watchForLeaks(trio, calls);
    const idle = await liveBytes(trio);
    await trio.caller.open(HOLD, MAX_IN_FLIGHT);
    const running = await liveBytes(trio);
    await trio.caller.open(HOLD, MAX_IN_FLIGHT);
    const waiting = await liveBytes(trio);
    return {
      ...leak,
      bytesPerRunningCall: (running - idle) / MAX_IN_FLIGHT,
      bytesPerWaitingCall: (waiting - running) / MAX_IN_FLIGHT,
    };
  } finally {
    await trio.stop();
  }
}

const SAMPLES = 8;

async function watchForLeaks({ caller, middle }: Trio, calls: number) {
  const part = Math.ceil(calls / SAMPLES);
  const load = { tool: ECHO, inFlight: 256, until: { calls: part } };
  // Caches fill, and compiled code comes, before the first sample.
  await caller.load(load);
  const before = await middle.usage({ collect: true });
  const samples = [before.liveBytes];
  let handlesAfter = before.handles;
  for (let sample = 0; sample < SAMPLES; sample++) {
    await caller.load(load);
    const { liveBytes: bytes, handles } = await middle.usage({ collect: true });
    samples.push(bytes);
    handlesAfter = handles;
  }
  return {
    calls: part * SAMPLES,
    bytesPerEndedCall: slope(samples) / part,
    handlesBefore: before.handles,
    handlesAfter,
  };
}

/** Once the calls that were opened have arrived: nothing tells when, so a fixed point of its memory has to do. */
async function liveBytes({ middle }: Trio): Promise<number> {
  let last = 0;
  for (;;) {
    const { liveBytes: bytes } = await middle.usage({ collect: true });
    if (Math.abs(bytes - last) < last / 1_000) return bytes;
    last = bytes;
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
  }
}

const SETTLING_MS = 250;
