import { readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { fromBinary } from '@bufbuild/protobuf';
import { type SessionEvent, SessionEventSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { splitPiece } from '../../../src/journal/log-piece.ts';
import type { Effect } from './programs/work.ts';

/** One life of a worker, from its start to its end. Times are milliseconds since the epoch. */
export interface WorkerLife {
  readonly name: string;
  /** When it was welcomed, each time. */
  readonly connectedAt: number[];
  killedAt: number | undefined;
}

/** One life of the engine. */
export interface EngineLife {
  readonly launchedAt: number;
}

/** Everything that is known once a storm is over, from sources that do not depend on each other. */
export interface Evidence {
  /** The call ids that the caller made. */
  readonly asked: readonly string[];
  /** The log of each call, read from the file of the journal. */
  readonly logs: ReadonlyMap<string, readonly SessionEvent[]>;
  /** What handlers did, read from the file that they appended to. */
  readonly effects: readonly Effect[];
  /** The ends that the caller saw, each as often as it saw one. */
  readonly seen: ReadonlyMap<string, readonly string[]>;
  /** The ends as ListCalls tells them, and as GetCall does. */
  readonly listed: ReadonlyMap<string, string | undefined>;
  readonly got: ReadonlyMap<string, string | undefined>;
  readonly workers: ReadonlyMap<string, WorkerLife>;
  readonly engines: readonly EngineLife[];
  readonly resumeGraceMs: number;
}

/** The log of each direct call, by its call id, from the file of an engine that has stopped. */
export function readLogs(path: string): Map<string, SessionEvent[]> {
  const database = new DatabaseSync(path);
  try {
    const rows = database
      .prepare(
        'SELECT session_id, sequence, event, count FROM events JOIN sessions ON sessions.id = events.session ORDER BY events.session, sequence',
      )
      .iterate();
    const logs = new Map<string, SessionEvent[]>();
    for (const { session_id: sessionId, sequence: last, event, count } of rows) {
      if (
        typeof sessionId !== 'string' ||
        typeof last !== 'number' ||
        typeof count !== 'number' ||
        !(event instanceof Uint8Array)
      ) {
        throw new Error(`${path} is no journal`);
      }
      const callId = sessionId.replace(/^call:/, '');
      const log = logs.get(callId) ?? [];
      logs.set(callId, log);
      for (const [index, bytes] of splitPiece(event, count).entries()) {
        // The columns have it, and the bytes do not say it again.
        const sequence = last - count + 1 + index;
        log.push(Object.assign(fromBinary(SessionEventSchema, bytes), { sequence }));
      }
    }
    return logs;
  } finally {
    database.close();
  }
}

/** The effects in a file of effects. A line that a kill cut short was not fsynced, so nobody was told of it. */
export async function readEffects(path: string): Promise<Effect[]> {
  const text = await readFile(path, 'utf8');
  return text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Effect);
}
