import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { MAX_QUEUED_APPENDS } from '../../src/core/limits.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { startThread } from '../../src/journal/thread-client.ts';
import { describeJournal } from '../contract/journal.ts';
import { describeRetention } from '../contract/journal-retention.ts';
import { appendOf, collect, ENDED, keyOf } from '../contract/session-events.ts';
import { temporaryDirectory } from './temporary-directory.ts';

async function openNew() {
  return openSqliteJournal({ path: join(await temporaryDirectory(), 'journal.db') });
}

describeJournal('sqlite', openNew);
describeRetention('sqlite', openNew);

describe('the SQLite journal', () => {
  it('7.1: what was appended is there after it was opened again', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const first = await openSqliteJournal({ path });
    await first.append([appendOf(keyOf('a'), 0, 3), appendOf(keyOf('b'), 0, 1, ENDED)]);
    await first.close();
    const second = await openSqliteJournal({ path });
    expect(await collect(second.read(keyOf('a'), 0))).toEqual(appendOf(keyOf('a'), 0, 3).events);
    expect(await collect(second.unfinished())).toEqual([keyOf('a')]);
    expect(await second.append([appendOf(keyOf('a'), 3)])).toEqual([{ kind: 'appended' }]);
    await second.close();
  });

  it('makes missing directories and the file for this user alone', async () => {
    const directory = join(await temporaryDirectory(), 'made', 'too');
    const path = join(directory, 'journal.db');
    const journal = await openSqliteJournal({ path });
    const modes = [join(directory, '..'), directory, path, `${path}-wal`].map(
      async (each) => (await stat(each)).mode & 0o777,
    );
    expect(await Promise.all(modes)).toEqual([0o700, 0o700, 0o600, 0o600]);
    await journal.close();
  });

  it('a path that cannot be opened is refused with the path and what to look at', async () => {
    const directory = await temporaryDirectory();
    const file = join(directory, 'file');
    await writeFile(file, '');
    const refused = { name: 'JournalError', kind: 'unavailable' };
    await expect(openSqliteJournal({ path: directory })).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining(directory),
    });
    await expect(openSqliteJournal({ path: join(file, 'journal.db') })).rejects.toMatchObject(refused);
  });

  it('closing leaves one file, without a write-ahead log beside it', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const journal = await openSqliteJournal({ path });
    await journal.append([appendOf(keyOf('a'), 0)]);
    await journal.close();
    await expect(stat(`${path}-wal`)).rejects.toThrow('ENOENT');
  });

  it('the write-ahead log stays small while much is written', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const journal = await openSqliteJournal({ path });
    const text = 'x'.repeat(100_000);
    for (let round = 0; round < 40; round += 1) {
      const appends = Array.from({ length: 8 }, (_, index) =>
        appendOf(keyOf(`s${round}-${index}`), 0, 1, ENDED, text),
      );
      await journal.append(appends);
    }
    expect((await stat(path)).size).toBeGreaterThan(20_000_000);
    expect((await stat(`${path}-wal`)).size).toBeLessThan(8_000_000);
    await journal.close();
  });

  it('lists and recovers by an index alone, without looking at other rows', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    await (await openSqliteJournal({ path })).close();
    const database = new DatabaseSync(path);
    const owner = 'tenant = ? AND kind = ? AND subject = ?';
    const plan = (index: string, filter: string): string =>
      database
        .prepare(
          `EXPLAIN QUERY PLAN SELECT id, session_id FROM sessions INDEXED BY ${index}
           WHERE ${filter} ORDER BY id DESC LIMIT 3`,
        )
        .all('', '', '', '')
        .map((row) => String(row['detail']))
        .join('; ');
    const plans = [
      plan('sessions_by_owner', `${owner} AND id < ?`),
      plan('unfinished_by_owner', `${owner} AND unfinished = 1 AND id < ?`),
    ];
    expect(plans).toEqual([
      expect.stringMatching(/^SEARCH sessions USING INDEX sessions_by_owner \(.*id<\?\)$/),
      expect.stringMatching(/^SEARCH sessions USING INDEX unfinished_by_owner \(.*id<\?\)$/),
    ]);
    database.close();
  });

  it('reads on from within what one append wrote', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const journal = await openSqliteJournal({ path });
    const { events } = appendOf(keyOf('a'), 0, 5);
    await journal.append([appendOf(keyOf('a'), 0, 3)]);
    await journal.append([appendOf(keyOf('a'), 3, 2)]);
    for (const after of [0, 1, 2, 3, 4, 5]) {
      expect(await collect(journal.read(keyOf('a'), after))).toEqual(events.slice(after));
    }
    await journal.close();
  });

  it('more appends than may wait are refused as overloaded, and nothing of them is queued', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const journal = await openSqliteJournal({ path });
    const many = Array(MAX_QUEUED_APPENDS).fill(appendOf(keyOf('a'), 0));
    const first = journal.append(many);
    const overloaded = { name: 'JournalError', kind: 'overloaded', written: 'nothing' };
    await expect(journal.append([appendOf(keyOf('b'), 0)])).rejects.toMatchObject(overloaded);
    const outcomes = await first;
    expect(outcomes.filter((outcome) => outcome.kind === 'appended')).toHaveLength(1);
    expect(await collect(journal.read(keyOf('b'), 0))).toEqual([]);
    expect(await journal.append([appendOf(keyOf('b'), 0)])).toEqual([{ kind: 'appended' }]);
    await journal.close();
  });

  describe('when its thread ends', () => {
    async function openWithWorker() {
      const path = join(await temporaryDirectory(), 'journal.db');
      const workers: Worker[] = [];
      const reports: string[] = [];
      const journal = await openSqliteJournal({
        path,
        observer: { report: (level, event) => reports.push(`${level} ${event}`) },
        start: (options) => {
          const worker = startThread(options);
          workers.push(worker);
          return worker;
        },
      });
      return { path, journal, reports, end: () => Promise.all(workers.map((worker) => worker.terminate())) };
    }

    it('7.4: what waits rejects, and so does everything after it, at once', async () => {
      const { path, journal, reports, end } = await openWithWorker();
      await journal.append([appendOf(keyOf('a'), 0)]);
      const waiting = [
        journal.append([appendOf(keyOf('b'), 0)]),
        collect(journal.read(keyOf('a'), 0)),
        collect(journal.unfinished()),
      ];
      const settled = Promise.allSettled(waiting);
      await end();
      const failed = { name: 'JournalError', kind: 'failed', written: 'unknown' };
      // The read may have been answered before the thread ended; the append was not sent yet.
      expect((await settled)[0]).toMatchObject({ status: 'rejected', reason: failed });
      await expect(journal.append([appendOf(keyOf('c'), 0)])).rejects.toMatchObject({
        ...failed,
        message: expect.stringContaining(path),
      });
      await expect(collect(journal.read(keyOf('a'), 0))).rejects.toMatchObject(failed);
      expect(reports).toEqual(['error journal_ended']);
      await journal.close();
    });

    it('an idle journal notices as well, and closes', async () => {
      const { journal, end } = await openWithWorker();
      await end();
      await expect(journal.append([appendOf(keyOf('a'), 0)])).rejects.toMatchObject({ kind: 'failed' });
      await journal.close();
    });
  });
});
