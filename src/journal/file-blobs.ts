import { createHash, hash, randomUUID } from 'node:crypto';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { BLOB_CHUNK_BYTES } from '../core/limits.ts';
import type { Blobs, Digest } from '../engine/ports.ts';
import { digestOf, firstDigits, isDigest } from './digest.ts';
import { makeDirectory, syncDirectory } from './directory.ts';
import { JournalError, reasonOf } from './journal-error.ts';

export interface FileBlobsOptions {
  /** Made when it is missing, for this user alone. It belongs to one engine, like the journal beside it. */
  readonly directory: string;
}

const PRIVATE_FILE_MODE = 0o600;
/** Where blobs are written before they get their name. No tenant's directory can be called so. */
const INCOMING = '.incoming';
/** Tenants that are directories under their own name; the others are foreign text, and are hashed. */
const PLAIN_TENANT = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Blobs as files `directory/tenant/ab/sha256-ab…`. Rejects with a JournalError where it cannot be used. */
export async function openFileBlobs(options: FileBlobsOptions): Promise<Blobs> {
  const directory = resolve(options.directory);
  const incoming = join(directory, INCOMING);
  try {
    await makeDirectory(incoming);
    // What a crash left half written has no name, and nobody will ask for it.
    for (const name of await readdir(incoming)) await rm(join(incoming, name), { recursive: true });
  } catch (error) {
    throw unusable(directory, error);
  }
  return createBlobs(directory, incoming);
}

function createBlobs(directory: string, incoming: string): Blobs {
  /** Puts under way, by path: the same bytes are written once, however many bring them. */
  const writing = new Map<string, Promise<void>>();
  let closed = false;

  function rejectWhenClosed(): void {
    if (closed) throw new JournalError('closed', `The blob store ${directory} is closed.`);
  }

  async function write(folder: string, path: string, bytes: Uint8Array): Promise<void> {
    await makeDirectory(folder);
    // A file of another size lost its end; here are the bytes to mend it with.
    if ((await sizeOf(path)) !== bytes.length) {
      const draft = join(incoming, randomUUID());
      try {
        await writeDurably(draft, bytes);
        await rename(draft, path);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    }
    // Also for a file that was there: its name may be younger than the last crash, and not on disk yet.
    await syncDirectory(folder);
  }

  return {
    async put(tenant, bytes) {
      rejectWhenClosed();
      const digest = digestOf(bytes);
      const folder = folderOf(directory, tenant, digest);
      const path = join(folder, digest);
      const written = writing.get(path) ?? write(folder, path, bytes).finally(() => writing.delete(path));
      writing.set(path, written);
      await written.catch((error: unknown) => {
        throw unwritten(path, error);
      });
      return digest;
    },

    async read(tenant, digest) {
      rejectWhenClosed();
      if (!isDigest(digest)) return undefined;
      const path = join(folderOf(directory, tenant, digest), digest);
      const size = await sizeOf(path).catch((error: unknown) => {
        throw unreadable(path, error);
      });
      return size === undefined ? undefined : readVerified(path, digest);
    },

    async close() {
      closed = true;
      await Promise.allSettled(writing.values());
    },
  };
}

/** Yields each chunk once the next one is there, so that the last one waits for the verdict on all of them. */
async function* readVerified(path: string, digest: Digest): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, error);
  });
  try {
    const sum = createHash('sha256');
    let held: Uint8Array | undefined;
    for (;;) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(BLOB_CHUNK_BYTES), 0, BLOB_CHUNK_BYTES);
      if (bytesRead === 0) break;
      if (held !== undefined) yield held;
      held = buffer.subarray(0, bytesRead);
      sum.update(held);
    }
    if (`sha256-${sum.digest('hex')}` !== digest) throw damaged(path);
    if (held !== undefined) yield held;
  } catch (error) {
    throw error instanceof JournalError ? error : unreadable(path, error);
  } finally {
    await file.close();
  }
}

function folderOf(directory: string, tenant: string, digest: Digest): string {
  // "~" starts no plain name, so a hash never meets one.
  const name = PLAIN_TENANT.test(tenant) ? tenant : `~${hash('sha256', tenant, 'hex')}`;
  return join(directory, name, firstDigits(digest));
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', PRIVATE_FILE_MODE);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Undefined where there is no file. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function unusable(directory: string, error: unknown): JournalError {
  return new JournalError(
    'unavailable',
    `The blob directory ${directory} cannot be used: ${reasonOf(error)}. ` +
      'Look at the path and at the rights of this user on it.',
    error,
  );
}

/** Nobody refers to a blob before `put` has resolved, so one that was not written harms nothing else. */
function unwritten(path: string, error: unknown): JournalError {
  const isFull = codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT';
  return isFull
    ? new JournalError('full', `There is no room for the blob ${path}. Free disk space.`, error)
    : new JournalError(
        'unavailable',
        `The blob ${path} could not be written: ${reasonOf(error)}. Look at the disk and the directory's rights.`,
        error,
      );
}

function unreadable(path: string, error: unknown): JournalError {
  return new JournalError(
    'unavailable',
    `The blob ${path} could not be read: ${reasonOf(error)}. Look at the disk and the file's rights.`,
    error,
  );
}

function damaged(path: string): JournalError {
  return new JournalError(
    'corrupt',
    `The blob ${path} is damaged: its bytes do not have the digest in its name. Restore it from a backup.`,
  );
}
