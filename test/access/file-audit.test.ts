import { appendFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFileAudit } from '../../src/access/file-audit.ts';
import { createMemoryAudit } from '../../src/access/memory-audit.ts';
import { verifyAudit } from '../../src/access/verify-audit.ts';
import { ANONYMOUS } from '../../src/core/rights.ts';
import type { Audit } from '../../src/engine/ports.ts';
import { temporaryDirectory } from '../journal/temporary-directory.ts';
import { createManualClock } from './manual-clock.ts';

const observer = { report: () => undefined };

async function world(maxFileBytes = 1_000_000) {
  const directory = join(await temporaryDirectory(), 'audit');
  const open = () => openFileAudit({ directory, clock: createManualClock(), observer, maxFileBytes });
  return { directory, open };
}

const fact = (callId: string) => ({ caller: ANONYMOUS, method: 'm', callId, outcome: 'ok', peer: 'p' });

async function callIds(audit: Audit, after = 0): Promise<string[]> {
  const ids: string[] = [];
  for await (const { callId } of audit.read(after)) ids.push(callId);
  return ids;
}

describe.each([
  ['files', async () => (await world()).open()],
  ['memory', async () => createMemoryAudit(createManualClock())],
])('the record of who did what, in %s', (_what, open) => {
  it('9.2: is read in order, from any place on, and holds who, what and what became of it', async () => {
    const audit = await open();
    for (const id of ['a', 'b', 'c']) audit.record(fact(id));
    expect([await callIds(audit), await callIds(audit, 1), await callIds(audit, 3)]).toEqual([
      ['a', 'b', 'c'],
      ['b', 'c'],
      [],
    ]);
    const { value: first } = await audit.read(0)[Symbol.asyncIterator]().next();
    expect(first).toMatchObject({
      sequence: 1,
      tenant: 'default',
      role: 'anonymous',
      method: 'm',
      outcome: 'ok',
      peer: 'p',
    });
    await audit.close();
  });
});

describe('the record in files', () => {
  it('9.2: goes on after a restart, and what was written is never changed', async () => {
    const { directory, open } = await world();
    const first = await open();
    first.record(fact('a'));
    await first.close();
    const [name = ''] = await readdir(directory);
    const before = await readFile(join(directory, name), 'utf8');
    const second = await open();
    second.record(fact('b'));
    expect(await callIds(second)).toEqual(['a', 'b']);
    await second.close();
    expect((await readFile(join(directory, name), 'utf8')).startsWith(before)).toBe(true);
    expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  });

  it('loses nothing but the line that a power cut tore', async () => {
    const { directory, open } = await world();
    const first = await open();
    first.record(fact('a'));
    await first.close();
    const [name = ''] = await readdir(directory);
    await appendFile(join(directory, name), '{"sequence":2,"at":1,"ten');
    const second = await open();
    second.record(fact('b'));
    expect(await callIds(second)).toEqual(['a', 'b']);
    await second.close();
  });

  it('begins a new file when one is full, and reads through all of them', async () => {
    const { directory, open } = await world(500);
    const audit = await open();
    const ids = Array.from({ length: 20 }, (_, at) => `call-${at}`);
    for (const id of ids) {
      audit.record(fact(id));
      await callIds(audit);
    }
    expect(await callIds(audit)).toEqual(ids);
    expect(await callIds(audit, 15)).toEqual(ids.slice(15));
    expect((await readdir(directory)).length).toBeGreaterThan(3);
    await audit.close();
  });

  it('reports what it could not write, and lets requests go on', async () => {
    const directory = join(await temporaryDirectory(), 'audit');
    const reports: string[] = [];
    const audit = await openFileAudit({
      directory,
      clock: createManualClock(),
      observer: { report: (_level, event) => reports.push(event) },
    });
    const { rm, writeFile } = await import('node:fs/promises');
    await rm(directory, { recursive: true });
    await writeFile(directory, 'in the way');
    audit.record(fact('a'));
    await audit.close();
    expect(reports).toEqual(['audit_lost']);
  });
});

describe('the chain of the record', () => {
  /** Writes entries, three to a file, in two runs of an engine. */
  async function chain() {
    const { directory, open } = await world(700);
    for (const run of [0, 1]) {
      const audit = await open();
      for (let index = 0; index < 6; index += 1) {
        audit.record(fact(`${run}-${index}`));
        // Each is written by itself, so that files end where they should.
        await callIds(audit);
      }
      await audit.close();
    }
    const files = (await readdir(directory)).sort();
    const change = async (name: string, edit: (lines: string[]) => string[]): Promise<void> => {
      const path = join(directory, name);
      await writeFile(path, edit((await readFile(path, 'utf8')).split('\n')).join('\n'));
    };
    return { directory, open, files, change, verify: (noted?: string) => verifyAudit(directory, noted) };
  }

  it('9.2: is whole over files and restarts, and goes on behind what a power cut tore', async () => {
    const { directory, open, files, verify } = await chain();
    expect(files.length).toBeGreaterThan(2);
    const { head, ...whole } = await verify();
    expect([whole, head]).toEqual([
      { entries: 12, torn: 0, faults: [] },
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ]);
    await appendFile(join(directory, files.at(-1) ?? ''), '{"sequence":13,"at":1,"ten');
    const audit = await open();
    audit.record(fact('later'));
    await audit.close();
    expect(await verify(head)).toMatchObject({ entries: 13, torn: 1, faults: [] });
  });

  it.each<[string, (lines: string[]) => string[]]>([
    ['changed', ([first = '', ...rest]) => [first.replace('"ok"', '"no"'), ...rest]],
    ['removed', ([first = '', , ...rest]) => [first, ...rest]],
    ['added', ([first = '', ...rest]) => [first, first, ...rest]],
    ['made unreadable', ([first = '', ...rest]) => [first.slice(0, -9), ...rest]],
    ['stripped of its place', ([first = '', ...rest]) => [first.replace(/,"previous".*\}/, '}'), ...rest]],
    ['put elsewhere', ([first = '', second = '', ...rest]) => [second, first, ...rest]],
  ])('9.2: shows that a line was %s, in any file', async (_what, edit) => {
    const { files, change, verify } = await chain();
    for (const name of files.slice(0, -1)) {
      const { faults } = await verify();
      await change(name, edit);
      expect((await verify()).faults.length).toBeGreaterThan(faults.length);
    }
  });

  it('9.2: shows that a file in between is gone, and forgives that the oldest ones are', async () => {
    const { directory, files, verify } = await chain();
    const { head } = await verify();
    await rm(join(directory, files[0] ?? ''));
    expect(await verify(head)).toMatchObject({ faults: [], head });
    await rm(join(directory, files[2] ?? ''));
    expect((await verify()).faults).toHaveLength(1);
  });

  it('9.2: shows that the end was cut to whoever noted it', async () => {
    const { directory, files, verify } = await chain();
    const { head } = await verify();
    await rm(join(directory, files.at(-1) ?? ''));
    expect((await verify()).faults).toEqual([]);
    expect((await verify(head)).faults).toEqual([expect.stringContaining(head)]);
  });

  it('9.2: goes on from a record of before there was one, and holds that as well', async () => {
    const { directory, open, verify, change, files } = await chain();
    for (const name of files)
      await change(name, (lines) => lines.map((line) => line.replace(/,"previous".*\}/, '}')));
    const audit = await open();
    audit.record(fact('chained'));
    await audit.close();
    expect(await verify()).toMatchObject({ entries: 13, faults: [] });
    await change(files.at(-1) ?? '', (lines) => lines.map((line) => line.replace('"1-5"', '"x-5"')));
    expect((await verify()).faults).toHaveLength(1);
    expect(await readdir(directory)).toContain(files[0]);
  });

  it('9.4: holds one line for an entry, whatever ends lines elsewhere', async () => {
    const { open, directory } = await world();
    const audit = await open();
    const ids = ['a\u2028b', 'c\u2029d', 'e\nf', 'g\rh', 'i\u0085j'];
    for (const id of ids) audit.record(fact(id));
    expect(await callIds(audit)).toEqual(ids);
    await audit.close();
    expect(await verifyAudit(directory)).toMatchObject({ entries: ids.length, torn: 0, faults: [] });
  });
});
