import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Journal } from '../../src/engine/ports.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { appendOf, collect, keyOf } from '../contract/session-events.ts';
import { startChild } from './child.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The last sequence that was acknowledged for each session. */
type Acknowledged = Map<string, number>;

function note(acknowledged: Acknowledged, line: string): void {
  const [, sessionId, sequence] = /^(s\d+) (\d+)$/.exec(line) ?? [];
  if (sessionId !== undefined) acknowledged.set(sessionId, Number(sequence));
}

/** Everything that was acknowledged, and perhaps the append that was on its way. */
async function expectWhole(journal: Journal, acknowledged: Acknowledged): Promise<void> {
  for (const [sessionId, sequence] of acknowledged) {
    const events = await collect(journal.read(keyOf(sessionId), 0));
    expect(events.length).toBeGreaterThanOrEqual(sequence);
    expect(events.length).toBeLessThanOrEqual(sequence + 3);
    expect(events).toEqual(
      events.map((_, index) => expect.objectContaining({ sessionId, sequence: index + 1 })),
    );
  }
}

describe('durability of the SQLite journal', () => {
  it('7.1: a process that is killed at any moment loses no acknowledged event', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const acknowledged: Acknowledged = new Map();
    // Where the kill falls in a commit is chance; the counts only spread the rounds over start, checkpoints and more.
    for (const count of [1, 10, 333, 2_000, 30_000]) {
      const child = startChild('./appending-process.ts', [path]);
      let heard = 0;
      for await (const line of child.lines) {
        note(acknowledged, line);
        heard += 1;
        if (heard === count) child.process.kill('SIGKILL');
      }
      expect(await child.exited).toBeNull();
      expect(heard).toBeGreaterThanOrEqual(count);
      const journal = await openSqliteJournal({ path });
      await expectWhole(journal, acknowledged);
      const unfinished = (await collect(journal.unfinished())).map((key) => key.sessionId);
      expect(unfinished).toEqual(expect.arrayContaining([...acknowledged.keys()]));
      await journal.close();
    }
  });

  it('7.4: after a commit that failed, everything is refused at once, and what was acknowledged is there', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    // The kernel refuses to let a file grow beyond 1,024 or 2,048 blocks (shells disagree): a real error of a write.
    const child = startChild('./appending-process.ts', [path], 'ulimit -f 2048;');
    const acknowledged: Acknowledged = new Map();
    let last = '';
    for await (const line of child.lines) {
      note(acknowledged, line);
      last = line;
    }
    expect(await child.exited).toBe(0);
    const failed = { kind: 'failed', written: 'unknown', message: expect.stringContaining(path) };
    expect(JSON.parse(last)).toEqual({ ends: Array(8).fill(failed), after: Array(3).fill(failed) });
    expect(acknowledged.size).toBe(8);
    const journal = await openSqliteJournal({ path });
    await expectWhole(journal, acknowledged);
    await journal.close();
  });

  it('7.3: a second process on the same file is refused, and leaves the first one alone', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const child = startChild('./appending-process.ts', [path]);
    const lines = child.lines[Symbol.asyncIterator]();
    await lines.next();
    const inUse = expect.objectContaining({
      name: 'JournalError',
      kind: 'in_use',
      message: `The journal ${path} is in use by another engine. Stop that one, or give this one a journal of its own.`,
    });
    await expect(openSqliteJournal({ path })).rejects.toEqual(inUse);
    await expect(openSqliteJournal({ path })).rejects.toEqual(inUse);
    expect((await lines.next()).value).toMatch(/^s\d+ \d+$/);
    child.process.kill('SIGKILL');
    await child.exited;
    const journal = await openSqliteJournal({ path });
    await journal.close();
  });

  it('7.3: so is a second journal in the same process, and the lock outlives the attempt', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const journal = await openSqliteJournal({ path });
    await expect(openSqliteJournal({ path })).rejects.toMatchObject({ kind: 'in_use' });
    const child = startChild('./appending-process.ts', [path]);
    expect(await child.errors).toContain(`The journal ${path} is in use by another engine.`);
    expect(await child.exited).toBe(1);
    await journal.append([appendOf(keyOf('a'), 0)]);
    await journal.close();
  });

  it('a process that forgets to close its journal ends, and loses nothing', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const child = startChild('./forgetful-process.ts', [path]);
    expect(await child.exited).toBe(0);
    expect(await child.errors).toBe('');
    const journal = await openSqliteJournal({ path });
    expect(await collect(journal.read(keyOf('a'), 0))).toHaveLength(2);
    await journal.close();
  });
});
