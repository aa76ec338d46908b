/**
 * How fast a journal is: `node bench/journal.ts [directory]`. Each session does what a call does, an append of
 * two events (requested, dispatched) and one of one event (finished), again and again with new ids.
 *
 * The floor below is the machine's own: how often it can write 4 KiB and sync, one after the other.
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { create } from '@bufbuild/protobuf';
import { type SessionEvent, SessionEventSchema } from '../gen/spindle/v1/event_pb.ts';
import { timestamp } from '../src/core/time.ts';
import type { Append, Journal } from '../src/engine/ports.ts';
import { createMemoryJournal } from '../src/journal/memory.ts';
import { openSqliteJournal } from '../src/journal/sqlite.ts';

const RUN_MS = 4_000;
const WARM_UP_MS = 1_000;
const SESSIONS = [1, 16, 256, 2_048];

interface Row {
  readonly journal: string;
  readonly sessions: number;
  readonly 'appends/s': number;
  readonly 'p50 ms': number;
  readonly 'p99 ms': number;
  readonly 'max ms': number;
  readonly 'main CPU µs/append': number;
  readonly 'loop delay p99 ms': number;
  readonly 'largest WAL MiB': number;
}

const now = timestamp(Date.now());

function requested(sessionId: string): SessionEvent {
  return create(SessionEventSchema, {
    sessionId,
    sequence: 1,
    occurredAt: now,
    journal: { traceContext: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' } },
    kind: {
      case: 'toolCallRequested',
      value: {
        callId: sessionId,
        toolDigest: `sha256-${'a'.repeat(64)}`,
        name: 'get_weather',
        arguments: '{"city":"Berlin","unit":"celsius"}',
        input: {},
        policy: { maxAttempts: 1 },
      },
    },
  });
}

function dispatched(sessionId: string): SessionEvent {
  return create(SessionEventSchema, {
    sessionId,
    sequence: 2,
    occurredAt: now,
    journal: { leaseToken: 'abcdefghijklmnopqrstuv', workerInstanceId: 'abcdefghijklmnopqrstuv' },
    kind: {
      case: 'toolCallDispatched',
      value: { callId: sessionId, attempt: 1, workerName: 'weather-1', deadline: now },
    },
  });
}

function finished(sessionId: string): SessionEvent {
  return create(SessionEventSchema, {
    sessionId,
    sequence: 3,
    occurredAt: now,
    kind: {
      case: 'toolCallFinished',
      value: {
        callId: sessionId,
        attempts: 1,
        outcome: {
          case: 'result',
          value: {
            content: [
              { kind: { case: 'text', value: { text: '21 degrees and cloudy, wind from the west' } } },
            ],
          },
        },
      },
    },
  });
}

function callOf(sessionId: string): readonly [Append, Append] {
  const key = { tenant: 'default', sessionId };
  const head = { kind: 'call', name: 'get_weather', subject: 'bench', unfinished: true } as const;
  return [
    { key, expectedSequence: 0, events: [requested(sessionId), dispatched(sessionId)], head },
    { key, expectedSequence: 2, events: [finished(sessionId)], head: { ...head, unfinished: false } },
  ];
}

async function load(journal: Journal, sessions: number, prefix: string, ms: number): Promise<number[]> {
  const latencies: number[] = [];
  const end = performance.now() + ms;
  async function session(index: number): Promise<void> {
    for (let round = 0; performance.now() < end; round += 1) {
      for (const append of callOf(`call:${prefix}-${index}-${round}`)) {
        const start = performance.now();
        const [outcome] = await journal.append([append]);
        if (outcome?.kind !== 'appended') throw new Error('a conflict without a rival');
        latencies.push(performance.now() - start);
      }
      // Memory answers within the tick; a session that never leaves it would keep the others out.
      if (latencies.length % 1_024 === 0) await new Promise((resume) => setImmediate(resume));
    }
  }
  await Promise.all(Array.from({ length: sessions }, (_, index) => session(index)));
  return latencies;
}

async function measure(name: string, journal: Journal, sessions: number, wal?: string): Promise<Row> {
  await load(journal, sessions, `warm-${sessions}`, WARM_UP_MS);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let largestWal = 0;
  const watch = setInterval(() => {
    if (wal !== undefined) largestWal = Math.max(largestWal, statSync(wal).size);
  }, 20);
  delay.enable();
  const cpu = process.threadCpuUsage();
  const start = performance.now();
  const latencies = await load(journal, sessions, `run-${sessions}`, RUN_MS);
  const seconds = (performance.now() - start) / 1_000;
  const used = process.threadCpuUsage(cpu);
  delay.disable();
  clearInterval(watch);
  latencies.sort((left, right) => left - right);
  const at = (share: number): number => latencies[Math.floor(share * (latencies.length - 1))] ?? 0;
  return {
    journal: name,
    sessions,
    'appends/s': Math.round(latencies.length / seconds),
    'p50 ms': round(at(0.5)),
    'p99 ms': round(at(0.99)),
    'max ms': round(at(1)),
    'main CPU µs/append': round((used.user + used.system) / latencies.length),
    'loop delay p99 ms': round(delay.percentile(99) / 1e6),
    'largest WAL MiB': round(largestWal / 2 ** 20),
  };
}

function syncsPerSecond(directory: string): number {
  const file = openSync(join(directory, 'floor'), 'w');
  const page = Buffer.alloc(4_096);
  const start = performance.now();
  let count = 0;
  for (; performance.now() < start + 1_000; count += 1) {
    writeSync(file, page);
    fsyncSync(file);
  }
  closeSync(file);
  return count;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

const directory = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'spindle-bench-'));
try {
  console.log(`floor: ${syncsPerSecond(directory)} syncs a second, one after the other`);
  const rows: Row[] = [];
  const path = join(directory, 'journal.db');
  for (const sessions of SESSIONS) {
    const journal = await openSqliteJournal({ path });
    rows.push(await measure('sqlite', journal, sessions, `${path}-wal`));
    await journal.close();
  }
  rows.push(await measure('memory', createMemoryJournal(), 256));
  console.table(rows);
} finally {
  rmSync(directory, { recursive: true });
}
