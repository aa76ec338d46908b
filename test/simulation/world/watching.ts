import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { CALLER } from './callers.ts';
import type { ClientsWorld } from './clients.ts';
import type { Reach } from './reach.ts';
import type { Process } from './scheduler.ts';
import type { Talk } from './talks.ts';

/**
 * Watches a session from its first event on: after whatever happens to the watch it goes on from its cursor. The
 * result has to be called for each engine that dies.
 */
export function watchTalk(
  { scheduler, dice, history, reach }: ClientsWorld & { readonly reach: Reach },
  { sessionId, patience }: Talk,
  hear: (event: SessionEvent) => void,
  isOver: () => boolean,
): (process: Process) => void {
  let cursor = 0;
  let made = 0;
  let current: { readonly watch: string; readonly process: Process; stop: () => void } | undefined;

  const later = (millis: number, run: () => void): void => {
    scheduler.at(scheduler.now + millis, 'network', undefined, run);
  };

  const again = (): void => {
    if (!isOver()) later(dice.between(50, 2_000), begin);
  };

  const begin = (): void => {
    const watch = `${sessionId}#${++made}`;
    let arrivesAt = 0;
    const isCurrent = (): boolean => current?.watch === watch;
    const deliver = (run: () => void): void => {
      arrivesAt = Math.max(arrivesAt, scheduler.now + dice.latency(2, 80));
      scheduler.at(arrivesAt, 'network', undefined, () => {
        if (isCurrent()) run();
      });
    };
    const lost = (reason: string): void => {
      if (!isCurrent()) return;
      history.record({ kind: 'watch_lost', watch, sessionId, reason });
      current = undefined;
      again();
    };
    reach.run(({ engine, process }) => {
      const mine = { watch, process, stop: (): void => undefined };
      current = mine;
      const afterSequence = cursor;
      history.record({ kind: 'watch_begun', watch, sessionId, afterSequence });
      engine.conversations
        .follow(CALLER, sessionId, afterSequence, {
          events(events) {
            history.record({ kind: 'watch_told', watch, sessionId, events });
            deliver(() => {
              for (const event of events) {
                cursor = event.sequence;
                hear(event);
              }
            });
          },
          delta: () => undefined,
          lost: ({ reason }) => deliver(() => lost(reason)),
        })
        .then(
          (outcome) => {
            if (!outcome.ok) deliver(() => lost(outcome.refusal.reason));
            else if (isCurrent()) mine.stop = outcome.value;
            else outcome.value();
          },
          (error: unknown) => history.record({ kind: 'bug', error }),
        );
      if (patience === undefined || dice.chance(0.3)) return;
      later(patience, () => {
        if (!isCurrent()) return;
        current = undefined;
        scheduler.at(scheduler.now, 'network', process, () => mine.stop());
        again();
      });
    }, again);
  };
  begin();
  return (process) => {
    if (current?.process !== process) return;
    current = undefined;
    again();
  };
}
