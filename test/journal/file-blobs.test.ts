import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BLOB_CHUNK_BYTES } from '../../src/core/limits.ts';
import type { Blobs } from '../../src/engine/ports.ts';
import { openFileBlobs } from '../../src/journal/file-blobs.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { describeCollection } from '../contract/blob-collection.ts';
import { describeBlobs } from '../contract/blobs.ts';
import { collect } from '../contract/session-events.ts';
import { temporaryDirectory } from './temporary-directory.ts';

describeBlobs('files', async () => openFileBlobs({ directory: await temporaryDirectory() }));
describeCollection(
  'files',
  async (now) => openFileBlobs({ directory: await temporaryDirectory(), now }),
  async () => openSqliteJournal({ path: join(await temporaryDirectory(), 'journal.db') }),
);

const BYTES = Buffer.alloc(3 * BLOB_CHUNK_BYTES, 'spindle');

async function putOne() {
  const directory = join(await temporaryDirectory(), 'blobs');
  const blobs = await openFileBlobs({ directory });
  const digest = await blobs.put('acme', BYTES);
  const path = join(directory, 'acme', digest.slice('sha256-'.length, 'sha256-'.length + 2), digest);
  return { directory, blobs, digest, path };
}

async function read(blobs: Blobs, digest: string): Promise<Buffer> {
  const chunks = await blobs.read('acme', digest);
  if (chunks === undefined) throw new Error('the blob that was put is not there');
  return Buffer.concat(await collect(chunks));
}

describe('the file blob store', () => {
  it('keeps a blob under its tenant and digest, for this user alone, after it was opened again', async () => {
    const { directory, blobs, digest, path } = await putOne();
    expect((await readFile(path)).equals(BYTES)).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    await blobs.close();
    const again = await openFileBlobs({ directory });
    expect((await read(again, digest)).equals(BYTES)).toBe(true);
  });

  it('writes bytes that are there already not again', async () => {
    const { blobs, path } = await putOne();
    const { ino } = await stat(path);
    await blobs.put('acme', BYTES);
    expect(await stat(path)).toMatchObject({ ino });
  });

  it('keeps everything inside its directory, whatever a tenant is called', async () => {
    const parent = await temporaryDirectory();
    const blobs = await openFileBlobs({ directory: join(parent, 'blobs') });
    for (const tenant of ['..', '../..', '/etc', '.incoming', 'CON', 'a/../../b']) {
      await blobs.put(tenant, BYTES);
    }
    expect(await readdir(parent)).toEqual(['blobs']);
    const names = await readdir(join(parent, 'blobs'));
    expect(names).toHaveLength(7);
    expect(names.filter((name) => name !== '.incoming')).toEqual(
      Array(6).fill(expect.stringMatching(/^~[0-9a-f]{64}$/)),
    );
  });

  it('7.4: a changed byte is an error before the last chunk, never wrong bytes that look whole', async () => {
    const { blobs, digest, path } = await putOne();
    const changed = Buffer.from(BYTES);
    changed.writeUInt8(changed.readUInt8(10) ^ 1, 10);
    await writeFile(path, changed);
    const read: Uint8Array[] = [];
    const reading = async () => {
      for await (const chunk of (await blobs.read('acme', digest)) ?? []) read.push(chunk);
    };
    await expect(reading()).rejects.toMatchObject({
      name: 'JournalError',
      kind: 'corrupt',
      message: expect.stringContaining(path),
    });
    expect(Buffer.concat(read).length).toBeLessThan(BYTES.length);
  });

  it('a blob that lost its end is an error, and is mended when its bytes come again', async () => {
    const { blobs, digest, path } = await putOne();
    await truncate(path, 100);
    await expect(read(blobs, digest)).rejects.toMatchObject({ kind: 'corrupt' });
    await blobs.put('acme', BYTES);
    expect((await read(blobs, digest)).equals(BYTES)).toBe(true);
  });

  it('clears at opening what a crash left half written', async () => {
    const { directory, blobs, digest } = await putOne();
    await blobs.close();
    await writeFile(join(directory, '.incoming', 'half'), 'half');
    const again = await openFileBlobs({ directory });
    expect(await readdir(join(directory, '.incoming'))).toEqual([]);
    expect(await again.read('acme', digest)).toBeDefined();
  });

  it('leaves nothing behind when a blob cannot be written, and says which one', async () => {
    const { directory, blobs } = await putOne();
    await writeFile(join(directory, 'rival'), 'a file where a directory belongs');
    await expect(blobs.put('rival', BYTES)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(join(directory, 'rival')),
    });
    expect(await readdir(join(directory, '.incoming'))).toEqual([]);
  });

  it('a directory that cannot be used is refused with its path', async () => {
    const file = join(await temporaryDirectory(), 'file');
    await writeFile(file, '');
    await expect(openFileBlobs({ directory: join(file, 'blobs') })).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(join(file, 'blobs')),
    });
  });

  it('a collection leaves alone what is no blob, and a directory that does not say whose it is', async () => {
    const { directory, blobs, path } = await putOne();
    await blobs.put('Foreign', BYTES);
    const foreign = (await readdir(directory)).find((name) => name.startsWith('~')) ?? '';
    await rm(join(directory, foreign, '.tenant'));
    await writeFile(join(directory, 'acme', 'notes'), 'of an operator');
    await writeFile(`${path}.bak`, 'of an operator');
    const asked: string[] = [];
    const unreferenced = async (tenant: string, digests: readonly string[]) => {
      asked.push(tenant);
      return digests;
    };
    await collect(blobs.collect({ putBefore: Number.MAX_SAFE_INTEGER, unreferenced }));
    expect(asked).toEqual(['acme']);
    expect((await readdir(join(directory, foreign))).length).toBe(1);
    expect(await readFile(`${path}.bak`, 'utf8')).toBe('of an operator');
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  it('close waits for what is being written', async () => {
    const directory = await temporaryDirectory();
    await mkdir(directory, { recursive: true });
    const blobs = await openFileBlobs({ directory });
    const put = blobs.put('acme', BYTES);
    await blobs.close();
    const digest = await put;
    expect(await (await openFileBlobs({ directory })).read('acme', digest)).toBeDefined();
  });
});
