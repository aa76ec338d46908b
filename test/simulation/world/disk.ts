import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type SessionEvent, SessionEventSchema } from '../../../gen/spindle/v1/event_pb.ts';
import type {
  Append,
  AppendOutcome,
  Blobs,
  Journal,
  SessionHead,
  SessionKey,
} from '../../../src/engine/ports.ts';
import { checkAppend } from '../../../src/journal/check-append.ts';
import { digestOf } from '../../../src/journal/digest.ts';
import { JournalError } from '../../../src/journal/journal-error.ts';
import type { Dice } from './dice.ts';
import type { History } from './history.ts';
import type { Process, Scheduler } from './scheduler.ts';

export type DiskFault = 'full' | 'full_for_new' | 'overloaded' | 'failed' | 'slow';

/** What outlives every engine: the journal and the blobs. */
export interface Disk {
  /** The ports of one process. They end with it. */
  open(owner: Process): { readonly journal: Journal; readonly blobs: Blobs };
  /**
   * The owner died. Appends that were under way may have been written or not: some, from the first on, are.
   */
  crash(owner: Process): void;
  /** From now on, for a while or for one append, the disk misbehaves. */
  fail(fault: DiskFault, forMillis: number): void;
  heal(): void;
  /** Another owner of a session writes to it (7.3). False where the log has moved on. */
  write(
    key: SessionKey,
    expectedSequence: number,
    events: readonly SessionEvent[],
    head: SessionHead,
  ): boolean;
  logs(): ReadonlyMap<string, Log>;
}

export interface Log {
  readonly key: SessionKey;
  readonly head: SessionHead;
  readonly events: readonly SessionEvent[];
}

interface Stored {
  readonly key: SessionKey;
  head: SessionHead;
  readonly bytes: Uint8Array[];
  readonly events: SessionEvent[];
}

interface Waiting {
  readonly batch: readonly Append[];
  readonly fault: DiskFault | undefined;
  readonly resolve: (outcomes: AppendOutcome[]) => void;
  readonly reject: (error: JournalError) => void;
}

export function createDisk(scheduler: Scheduler, dice: Dice, history: History): Disk {
  const stored = new Map<string, Stored>();
  const bytesOf = new Map<string, Uint8Array>();
  const queues = new Map<Process, Waiting[]>();
  let fault: { readonly kind: DiskFault; readonly until: number } | undefined;

  /** The fault in force for an append that is made now. A failure strikes once. */
  const faultOf = (batch: readonly Append[]): DiskFault | undefined => {
    if (fault === undefined || scheduler.now > fault.until) return undefined;
    const { kind } = fault;
    if (kind === 'full_for_new')
      return batch.some((append) => append.expectedSequence === 0) ? kind : undefined;
    if (kind === 'failed') fault = undefined;
    return kind;
  };

  const apply = (engine: string, { key, expectedSequence, events, head }: Append): AppendOutcome => {
    const name = nameOf(key);
    const log = stored.get(name) ?? { key, head, bytes: [], events: [] };
    if (log.bytes.length !== expectedSequence) return { kind: 'conflict', actualSequence: log.bytes.length };
    stored.set(name, log);
    log.head = head;
    for (const event of events) {
      const bytes = toBinary(SessionEventSchema, event);
      log.bytes.push(bytes);
      // What a later reader gets is what the bytes say, and so is what the checker sees.
      log.events.push(fromBinary(SessionEventSchema, bytes));
    }
    history.record({
      kind: 'committed',
      engine,
      sessionId: key.sessionId,
      events: log.events.slice(expectedSequence),
    });
    return { kind: 'appended' };
  };

  const applyAll = (engine: string, batch: readonly Append[]): AppendOutcome[] =>
    batch.map((append) => apply(engine, append));

  return {
    open(owner) {
      const queue: Waiting[] = [];
      queues.set(owner, queue);
      /** Set once a commit has broken off: nothing is taken any more. */
      let broken = false;
      let freeAt = 0;

      const soon = (usual: number, rare: number, run: () => void): void => {
        const slow = fault?.kind === 'slow' && scheduler.now <= fault.until ? 40 : 1;
        freeAt = Math.max(freeAt, scheduler.now + dice.latency(usual, rare) * slow);
        scheduler.at(freeAt, 'disk', owner, run);
      };
      const wait = (): Promise<void> => new Promise((resolve) => soon(1, 20, resolve));

      const commit = (): void => {
        const waiting = queue.shift();
        if (waiting === undefined) return;
        const { batch, resolve, reject } = waiting;
        switch (waiting.fault) {
          case undefined:
          case 'slow': {
            const outcomes = applyAll(owner.name, batch);
            soon(0.5, 10, () => resolve(outcomes));
            return;
          }
          case 'failed': {
            broken = true;
            if (dice.chance(0.5)) applyAll(owner.name, batch);
            const error = new JournalError('failed', 'a commit broke off');
            soon(0.5, 10, () => reject(error));
            for (const later of queue.splice(0)) soon(0.1, 1, () => later.reject(error));
            return;
          }
          default: {
            const kind = waiting.fault === 'full_for_new' ? 'full' : waiting.fault;
            soon(0.5, 10, () => reject(new JournalError(kind, 'the disk takes nothing at the moment')));
          }
        }
      };

      const journal: Journal = {
        append(batch) {
          for (const append of batch) {
            checkAppend(append);
            history.record({ kind: 'appending', engine: owner.name, sessionId: append.key.sessionId });
          }
          return new Promise((resolve, reject) => {
            if (broken) {
              reject(new JournalError('failed', 'a commit broke off earlier'));
              return;
            }
            queue.push({ batch, fault: faultOf(batch), resolve, reject });
            soon(1, 30, commit);
          });
        },
        async *read(key, afterSequence) {
          await wait();
          const bytes = stored.get(nameOf(key))?.bytes ?? [];
          for (const event of bytes.slice(afterSequence)) yield fromBinary(SessionEventSchema, event);
        },
        async *unfinished() {
          await wait();
          for (const { key, head } of [...stored.values()]) if (head.unfinished) yield key;
        },
        async tally() {
          throw new Error('no simulated engine limits the sessions that are kept');
        },
        async list({ tenant, kind, subject, onlyUnfinished, limit }) {
          await wait();
          const matching = [...stored.values()].filter(
            ({ key, head }) =>
              key.tenant === tenant &&
              head.kind === kind &&
              head.subject === subject &&
              (head.unfinished || !onlyUnfinished),
          );
          return {
            sessionIds: matching
              .reverse()
              .slice(0, limit)
              .map(({ key }) => key.sessionId),
          };
        },
        // Simulated time is far shorter than any retention: nothing is old enough to be removed.
        prune: async () => ({ removed: [], more: false }),
        unreferenced: async () => [],
        async close() {
          broken = true;
        },
      };

      const blobs: Blobs = {
        async put(tenant, bytes) {
          const digest = digestOf(bytes);
          const full = faultOf([]) === 'full';
          await wait();
          if (full) throw new JournalError('full', 'the disk takes nothing at the moment');
          bytesOf.set(`${tenant}\n${digest}`, Uint8Array.from(bytes));
          return digest;
        },
        async read(tenant, digest) {
          await wait();
          const bytes = bytesOf.get(`${tenant}\n${digest}`);
          if (bytes === undefined) return undefined;
          return (async function* () {
            yield bytes;
          })();
        },
        async *collect() {
          await wait();
          yield* [];
        },
        async close() {
          broken = true;
        },
      };
      return { journal, blobs };
    },

    crash(owner) {
      const queue = queues.get(owner) ?? [];
      queues.delete(owner);
      const written = dice.int(0, queue.length);
      if (written > 0) history.record({ kind: 'fault', fault: 'append in flight written', on: '' });
      if (written < queue.length) history.record({ kind: 'fault', fault: 'append in flight lost', on: '' });
      for (const { batch, fault: struck } of queue.slice(0, written)) {
        if (struck === undefined || struck === 'slow') applyAll(owner.name, batch);
      }
    },

    fail(kind, forMillis) {
      fault = { kind, until: scheduler.now + forMillis };
    },

    heal() {
      fault = undefined;
    },

    write: (key, expectedSequence, events, head) =>
      apply('', { key, expectedSequence, events, head }).kind === 'appended',

    logs: () => stored,
  };
}

function nameOf({ tenant, sessionId }: SessionKey): string {
  return `${tenant}\n${sessionId}`;
}
