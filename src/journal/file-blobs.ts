import { createHash, randomUUID } from 'node:crypto';
import { open, readdir, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { BLOB_CHUNK_BYTES, MAX_PARALLEL_BLOB_WRITES } from '../core/limits.ts';
import type { Instant } from '../core/time.ts';
import type { Blobs, Digest } from '../engine/ports.ts';
import { isPlainTenant, oldBlobs, TENANT_FILE, tenantFolder } from './blob-folders.ts';
import { digestOf, firstDigits, isDigest } from './digest.ts';
import { makeDirectory, syncDirectory } from './directory.ts';
import { JournalError, reasonOf } from './journal-error.ts';
import { hasCode, sizeIfThere, writeDurably } from './private-file.ts';
import { createTurns } from './turns.ts';

export interface FileBlobsOptions {
  /** Made when it is missing, for this user alone. It belongs to one engine, like the journal beside it. */
  readonly directory: string;
  /** Tells when a blob was put: the file's time of change. The default is the time of the system. */
  readonly now?: () => Instant;
}

/** Where blobs are written before they get their name. No tenant's directory can be called so. */
const INCOMING = '.incoming';

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
  return createBlobs(directory, incoming, options.now ?? Date.now);
}

function createBlobs(directory: string, incoming: string, now: () => Instant): Blobs {
  /** Puts under way, by path: the same bytes are written once, however many bring them. */
  const writing = new Map<string, Promise<void>>();
  /** Removals under way, by path: a put of the same bytes waits, and writes them anew. */
  const removing = new Map<string, Promise<number | undefined>>();
  /** Tenants whose directory is known to name them. */
  const named = new Set<string>();
  const turn = createTurns(MAX_PARALLEL_BLOB_WRITES);
  let closed = false;

  function rejectWhenClosed(): void {
    if (closed) throw new JournalError('closed', `The blob store ${directory} is closed.`);
  }

  async function replace(path: string, bytes: Uint8Array): Promise<void> {
    const draft = join(incoming, randomUUID());
    try {
      await writeDurably(draft, bytes, 'wx');
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  /** A directory whose name is a hash says whose it is, so that what it holds can be collected. */
  async function nameTenant(tenant: string): Promise<void> {
    if (isPlainTenant(tenant) || named.has(tenant)) return;
    const path = join(directory, tenantFolder(tenant), TENANT_FILE);
    const name = Buffer.from(tenant);
    if ((await sizeIfThere(path)) !== name.length) await replace(path, name);
    named.add(tenant);
  }

  async function write(tenant: string, folder: string, path: string, bytes: Uint8Array): Promise<void> {
    await removing.get(path)?.catch(() => undefined);
    await makeDirectory(folder);
    await nameTenant(tenant);
    // A file of another size lost its end; here are the bytes to mend it with.
    if ((await sizeIfThere(path)) !== bytes.length) await replace(path, bytes);
    // A file's time is a little less exact than ours: rounded up, it is never before the put.
    const putAt = (Math.floor(now()) + 1) / 1_000;
    await utimes(path, putAt, putAt);
    // Also for a file that was there: its name may be younger than the last crash, and not on disk yet.
    await syncDirectory(folder);
  }

  /** The size of what was removed; undefined where the blob was put again meanwhile. */
  async function remove(path: string, putBefore: Instant): Promise<number | undefined> {
    if (closed || writing.has(path)) return undefined;
    const removal = unlinkIfOld(path, putBefore).finally(() => removing.delete(path));
    removing.set(path, removal);
    return removal;
  }

  return {
    async put(tenant, bytes) {
      rejectWhenClosed();
      const digest = digestOf(bytes);
      const folder = folderOf(directory, tenant, digest);
      const path = join(folder, digest);
      const written =
        writing.get(path) ??
        turn(() => write(tenant, folder, path, bytes)).finally(() => writing.delete(path));
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
      const size = await sizeIfThere(path).catch((error: unknown) => {
        throw unreadable(path, error);
      });
      return size === undefined ? undefined : readVerified(path, digest);
    },

    async *collect({ putBefore, unreferenced }) {
      rejectWhenClosed();
      try {
        for await (const step of oldBlobs(directory, putBefore)) {
          rejectWhenClosed();
          const { tenant, folder, digests } = step;
          let blobs = 0;
          let bytes = 0;
          for (const digest of await unreferenced(tenant, digests)) {
            const size = await remove(join(folder, digest), putBefore);
            if (size === undefined) continue;
            blobs += 1;
            bytes += size;
          }
          yield { blobs, bytes };
        }
      } catch (error) {
        throw error instanceof JournalError ? error : unreadable(directory, error);
      }
    },

    async close() {
      closed = true;
      await Promise.allSettled([...writing.values(), ...removing.values()]);
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
  return join(directory, tenantFolder(tenant), firstDigits(digest));
}

async function unlinkIfOld(path: string, putBefore: Instant): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.mtimeMs >= putBefore) return undefined;
  await unlink(path);
  return found.size;
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
  const isFull = hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT');
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
