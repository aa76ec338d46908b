import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import { MAX_MEMORY_CONVERSATIONS, MAX_MEMORY_SESSIONS } from '../core/limits.ts';
import type { Instant } from '../core/time.ts';
import type {
  Append,
  AppendOutcome,
  Digest,
  Journal,
  ListPage,
  ListQuery,
  SessionHead,
  SessionKey,
  SessionTally,
} from '../engine/ports.ts';
import { checkAppend, checkLimit, endOf } from './check-append.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { type Ended, EndedQueue, NOT_QUEUED } from './ended-queue.ts';
import { JournalError } from './journal-error.ts';
import { type Dated, SessionShelf } from './session-shelf.ts';

export interface MemoryJournalOptions {
  /** Sessions without open work that are kept; the one that ended first goes first. */
  readonly maxEndedSessions?: number;
  /** Conversations without open work that are kept; the one that rests longest goes first. */
  readonly maxConversations?: number;
}

/** A session's log. It keeps the events themselves: nobody changes a message after it was appended. */
interface Log extends Dated, Ended {
  readonly key: SessionKey;
  events: SessionEvent[];
  head: SessionHead;
  /** When it ended; meaningless while it is unfinished. */
  endedAt: Instant;
  /** What its events refer to, with repetitions. */
  references: Digest[];
}

interface Tenant {
  readonly logs: Map<string, Log>;
  /** By kind and subject, for lists. */
  readonly shelves: Map<string, SessionShelf<Log>>;
  /** How often its logs refer to a blob. */
  readonly references: Map<Digest, number>;
}

const APPENDED: AppendOutcome = { kind: 'appended' };
const NONE: readonly Digest[] = [];
/** Below this a list is copied to hold more: one that grows by itself gets room for sixteen. */
const SHORT_LIST = 8;

/** A journal that ends with the process. For tests, for benchmarks, and where nothing has to outlive the engine. */
export function createMemoryJournal({
  maxEndedSessions = MAX_MEMORY_SESSIONS,
  maxConversations = MAX_MEMORY_CONVERSATIONS,
}: MemoryJournalOptions = {}): Journal {
  const tenants = new Map<string, Tenant>();
  const ended = new EndedQueue<Log>();
  /** Conversations that owe nothing, in the order in which they became idle. */
  const idle = new EndedQueue<Log>();
  /** A conversation may go on at any time: calls, of which there are many more, must not push it out. */
  const queueOf = ({ head }: Log): EndedQueue<Log> => (head.kind === 'call' ? ended : idle);
  let created = 0;
  let closed = false;

  function create(key: SessionKey, head: SessionHead): Log {
    let tenant = tenants.get(key.tenant);
    if (tenant === undefined) {
      tenant = { logs: new Map(), shelves: new Map(), references: new Map() };
      tenants.set(key.tenant, tenant);
    }
    created += 1;
    const log: Log = {
      position: created,
      dropped: false,
      queuedAt: NOT_QUEUED,
      key,
      events: [],
      head,
      endedAt: 0,
      references: [],
    };
    tenant.logs.set(key.sessionId, log);
    const shelfName = `${head.kind}:${head.subject}`;
    let shelf = tenant.shelves.get(shelfName);
    if (shelf === undefined) {
      shelf = new SessionShelf();
      tenant.shelves.set(shelfName, shelf);
    }
    shelf.add(log);
    return log;
  }

  function drop({ key, head }: Log): void {
    const tenant = tenants.get(key.tenant);
    const log = tenant?.logs.get(key.sessionId);
    if (tenant === undefined || log === undefined) return;
    tenant.logs.delete(key.sessionId);
    queueOf(log).delete(log);
    // Its shelf keeps the log's place for a while. Whoever reads the events goes on with the array that was here.
    log.events = [];
    for (const digest of log.references) {
      const left = (tenant.references.get(digest) ?? 1) - 1;
      if (left > 0) tenant.references.set(digest, left);
      else tenant.references.delete(digest);
    }
    const shelfName = `${head.kind}:${head.subject}`;
    if (tenant.shelves.get(shelfName)?.drop(log) === 'empty') tenant.shelves.delete(shelfName);
    if (tenant.logs.size === 0) tenants.delete(key.tenant);
  }

  function file(log: Log): void {
    if (log.head.unfinished) {
      queueOf(log).delete(log);
      return;
    }
    const kept = queueOf(log);
    const max = kept === idle ? maxConversations : maxEndedSessions;
    kept.add(log);
    const oldest = kept.size > max ? kept.oldest() : undefined;
    if (oldest !== undefined) drop(oldest);
  }

  function refer(log: Log, digests: readonly Digest[]): void {
    const references = tenants.get(log.key.tenant)?.references;
    log.references = extended(log.references, digests);
    for (const digest of digests) {
      references?.set(digest, (references.get(digest) ?? 0) + 1);
    }
  }

  function find({ tenant, sessionId }: SessionKey): Log | undefined {
    return tenants.get(tenant)?.logs.get(sessionId);
  }

  function apply(append: Append): AppendOutcome {
    const { key, expectedSequence, events, head, blobs = NONE, definitions = NONE } = append;
    let log = find(key);
    const actualSequence = log?.events.length ?? 0;
    if (actualSequence !== expectedSequence) return { kind: 'conflict', actualSequence };
    const isNew = log === undefined;
    log ??= create(key, head);
    log.events = extended(log.events, events);
    const changed = isNew || log.head.unfinished !== head.unfinished;
    log.head = head;
    if (blobs.length > 0) refer(log, blobs);
    if (definitions.length > 0) refer(log, definitions);
    if (changed && !head.unfinished) log.endedAt = endOf(append);
    if (changed) file(log);
    return APPENDED;
  }

  function rejectWhenClosed(): void {
    if (closed) throw new JournalError('closed', 'The memory journal is closed. Open another one.');
  }

  return {
    async append(batch) {
      rejectWhenClosed();
      // All are checked before the first is applied: a bug in one must not leave half of a call behind.
      for (const append of batch) checkAppend(append);
      return batch.map(apply);
    },

    async *read(key, afterSequence) {
      rejectWhenClosed();
      const events = find(key)?.events ?? [];
      const end = events.length;
      for (let index = afterSequence; index < end; index += 1) {
        const event = events[index];
        if (event !== undefined) yield event;
      }
    },

    async *unfinished() {
      rejectWhenClosed();
      const logs = [...tenants.values()].flatMap((tenant) => [...tenant.logs.values()].filter(isUnfinished));
      logs.sort((left, right) => left.position - right.position);
      for (const { key } of logs) yield key;
    },

    async tally() {
      rejectWhenClosed();
      const tallies = new Map<string, SessionTally>();
      for (const [tenant, { logs }] of tenants) {
        for (const { head } of logs.values()) {
          if (head.kind !== 'session') continue;
          const { subject } = head;
          const name = JSON.stringify([tenant, subject]);
          const sessions = (tallies.get(name)?.sessions ?? 0) + 1;
          tallies.set(name, { tenant, subject, sessions });
        }
      }
      return [...tallies.values()];
    },

    async list(query) {
      rejectWhenClosed();
      checkLimit(query.limit);
      const before = query.cursor === undefined ? Infinity : decodeCursor(query, query.cursor);
      if (before === undefined) return undefined;
      const tenant = tenants.get(query.tenant);
      if (query.subject === undefined) {
        const logs = [...(tenant?.logs.values() ?? [])].filter(
          ({ head, position }) => head.kind === query.kind && position < before,
        );
        return page(
          query,
          logs.sort((left, right) => right.position - left.position),
        );
      }
      const shelf = tenant?.shelves.get(`${query.kind}:${query.subject}`);
      return shelf === undefined ? { sessionIds: [] } : page(query, shelf.newestFirst(before));
    },

    async prune(query) {
      rejectWhenClosed();
      if ('session' in query) {
        const log = find(query.session);
        if (log === undefined) return { removed: [], more: false };
        drop(log);
        return { removed: [log.key], more: false };
      }
      const { endedBefore, limit } = query;
      checkLimit(limit);
      const old = [...ended.values()].filter((log) => log.endedAt < endedBefore);
      old.sort((left, right) => left.endedAt - right.endedAt);
      const removed = old.slice(0, limit);
      for (const log of removed) drop(log);
      return { removed: removed.map(({ key }) => key), more: old.length > limit };
    },

    async unreferenced(tenant, digests) {
      rejectWhenClosed();
      const references = tenants.get(tenant)?.references;
      return digests.filter((digest) => !references?.has(digest));
    },

    async close() {
      closed = true;
    },
  };
}

function extended<T>(list: T[], more: readonly T[]): T[] {
  if (list.length < SHORT_LIST) return [...list, ...more];
  for (const item of more) list.push(item);
  return list;
}

function isUnfinished({ head }: Log): boolean {
  return head.unfinished;
}

function page(query: ListQuery, logs: Iterable<Log>): ListPage {
  const sessionIds: string[] = [];
  let last = 0;
  for (const { position, key, head } of logs) {
    if (query.name !== undefined && query.name !== head.name) continue;
    if (query.onlyUnfinished && !head.unfinished) continue;
    if (sessionIds.length === query.limit) return { sessionIds, nextCursor: encodeCursor(query, last) };
    sessionIds.push(key.sessionId);
    last = position;
  }
  return { sessionIds };
}
