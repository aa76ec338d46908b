import { appendFile, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFileAudit } from '../../src/access/file-audit.ts';
import { createMemoryAudit } from '../../src/access/memory-audit.ts';
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
