import type { Instance } from './instance.ts';

/** Connected workers and their slots, counted from what they hold (5.4). */
export interface WorkersStanding {
  readonly connected: number;
  /** Dispatches that the connected workers take at once. */
  readonly slots: number;
  /** Of these, taken; stuck ones are among them. */
  readonly used: number;
  /** Handlers that go on though the engine ended their dispatch (4.4). */
  readonly stuck: number;
}

export function workersStanding(instances: ReadonlyMap<string, Instance>): WorkersStanding {
  let connected = 0;
  let slots = 0;
  let used = 0;
  let stuck = 0;
  for (const { link, leases, maxInFlight } of instances.values()) {
    if (link === undefined) continue;
    connected += 1;
    slots += maxInFlight;
    used += leases.size;
    for (const held of leases.values()) if (held.stuck) stuck += 1;
  }
  return { connected, slots, used, stuck };
}
