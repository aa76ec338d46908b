import type { WorkersStanding } from '../engine/ports.ts';
import type { Instance } from './instance.ts';

/** Counted from what each worker holds, so that no count can drift (5.4). */
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
