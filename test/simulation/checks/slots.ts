import type { Evidence, Report } from './evidence.ts';

/** A dispatch that was reserved under an earlier limit still goes out within this. */
const RESERVED_FOR_MS = 10_000;

interface Occupancy {
  /** What really runs, by lease, with the tool's name. */
  readonly running: Map<string, string>;
  /** Dispatches that were written and not read yet, by stream. */
  readonly underWay: Map<number, Map<string, string>>;
  /** Limits that the engine has read, with when. */
  readonly limits: { readonly limit: number; readonly until: number }[];
  limit: number;
}

/**
 * 5.4: never more dispatches at a worker than its limit, also where the engine has given some of them up. Counted
 * from what runs there and what is on its way there, not from what anybody thinks.
 */
export function checkSlots({ facts, calls }: Evidence, report: Report): void {
  const workers = new Map<string, Occupancy>();
  const of = (worker: string): Occupancy => {
    const known = workers.get(worker) ?? { running: new Map(), underWay: new Map(), limits: [], limit: 0 };
    workers.set(worker, known);
    return known;
  };
  const toolOf = (callId: string): string => calls.get(callId)?.requested?.name ?? '';
  const announce = (occupancy: Occupancy, limit: number, time: number): void => {
    occupancy.limits.push({ limit: occupancy.limit, until: time });
    occupancy.limit = limit;
  };

  for (const fact of facts) {
    switch (fact.kind) {
      case 'run_started':
        of(fact.worker).running.set(fact.leaseToken, toolOf(fact.callId));
        break;
      case 'run_ended':
      case 'decision_said':
        of(fact.worker).running.delete(fact.leaseToken);
        break;
      case 'decision_asked':
        of(fact.worker).running.set(fact.leaseToken, fact.trigger);
        break;
      case 'stream_ended':
        if (fact.side === 'worker') of(fact.worker).underWay.delete(fact.stream);
        break;
      case 'worker_read':
        if (fact.frame.case === 'dispatch')
          of(fact.worker).underWay.get(fact.stream)?.delete(fact.frame.value.leaseToken);
        break;
      case 'engine_read':
        if (fact.frame.case === 'hello')
          announce(of(fact.worker), fact.frame.value.maxInFlight ?? 16, fact.time);
        if (fact.frame.case === 'capacity')
          announce(of(fact.worker), fact.frame.value.maxInFlight, fact.time);
        break;
      case 'engine_wrote': {
        if (fact.frame.case !== 'dispatch') break;
        const occupancy = of(fact.worker);
        const { leaseToken, trigger } = fact.frame.value;
        const tool = trigger?.kind.case === 'toolExecute' ? trigger.kind.value.name : '';
        const underWay = occupancy.underWay.get(fact.stream) ?? new Map<string, string>();
        occupancy.underWay.set(fact.stream, underWay);
        underWay.set(leaseToken, tool);
        const names = [...occupancy.running.values(), ...underWay.values()];
        const limit = Math.max(
          occupancy.limit,
          ...occupancy.limits
            .filter(({ until }) => until > fact.time - RESERVED_FOR_MS)
            .map((one) => one.limit),
        );
        if (names.length > limit)
          report(
            '5.4',
            `${fact.worker} has ${names.length} dispatches, and its limit is ${limit}`,
            fact.time,
          );
        if (tool === 'narrow' && names.filter((name) => name === 'narrow').length > 1)
          report('5.4', `${fact.worker} runs a tool twice at once that it offers once`, fact.time);
        break;
      }
      default:
        break;
    }
  }
}
