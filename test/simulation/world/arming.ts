import { type Fault, type FaultKind, MOMENT_PATIENCE_MS, type Moment, momentOf } from './faults.ts';
import type { History } from './history.ts';
import type { Scheduler } from './scheduler.ts';

/** Lets each fault strike at its moment, between two events. */
export function armFaults(
  scheduler: Scheduler,
  history: History,
  faults: readonly Fault[],
  strike: (kind: FaultKind) => boolean,
): void {
  /** Faults that look out for their moment, and those whose moment has come. */
  const watching = new Map<Fault, Moment>();
  let counting: { readonly fault: Fault; left: number }[] = [];

  const begin = (fault: Fault): void => {
    if (watching.delete(fault)) counting.push({ fault, left: fault.stepsAfter });
  };

  for (const fault of faults) {
    scheduler.at(fault.from, 'world', undefined, () => {
      watching.set(fault, fault.moment);
      if (fault.moment === 'at once') begin(fault);
    });
    scheduler.at(fault.from + MOMENT_PATIENCE_MS / 2, 'world', undefined, () => begin(fault));
  }

  history.listen((fact) => {
    if (watching.size === 0) return;
    const moment = momentOf(fact);
    for (const [fault, awaited] of [...watching]) if (awaited === moment) begin(fault);
  });

  scheduler.onStep(() => {
    if (counting.length === 0) return;
    const due = counting.filter(({ left }) => left <= 0);
    counting = counting.filter(({ left }) => left > 0);
    for (const one of counting) one.left -= 1;
    for (const { fault } of due) {
      if (strike(fault.kind)) history.record({ kind: 'fault', fault: fault.kind, on: fault.moment });
    }
  });
}
