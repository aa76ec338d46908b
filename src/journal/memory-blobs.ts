import { BLOB_CHUNK_BYTES, BLOBS_PER_STEP, MAX_MEMORY_BLOBS_BYTES } from '../core/limits.ts';
import type { Instant } from '../core/time.ts';
import type { Blobs, Collected, Digest } from '../engine/ports.ts';
import { digestOf } from './digest.ts';
import { JournalError } from './journal-error.ts';

export interface MemoryBlobsOptions {
  /** Beyond it `put` rejects with 'full'. */
  readonly maxBytes?: number;
  /** Tells when a blob was put. Without it none is ever old enough to be collected. */
  readonly now?: () => Instant;
}

interface Blob {
  readonly bytes: Uint8Array;
  putAt: Instant;
}

/** Blobs that end with the process. */
export function createMemoryBlobs({
  maxBytes = MAX_MEMORY_BLOBS_BYTES,
  now = () => Number.POSITIVE_INFINITY,
}: MemoryBlobsOptions = {}): Blobs {
  const tenants = new Map<string, Map<Digest, Blob>>();
  let size = 0;
  let closed = false;

  function rejectWhenClosed(): void {
    if (closed) throw new JournalError('closed', 'The memory blob store is closed. Open another one.');
  }

  function remove(blobs: Map<Digest, Blob>, digests: readonly Digest[], putBefore: Instant): Collected {
    let count = 0;
    let bytes = 0;
    for (const digest of digests) {
      const blob = blobs.get(digest);
      // It may have been put again while the journal was asked.
      if (blob === undefined || blob.putAt >= putBefore) continue;
      blobs.delete(digest);
      count += 1;
      bytes += blob.bytes.length;
    }
    size -= bytes;
    return { blobs: count, bytes };
  }

  return {
    async put(tenant, bytes) {
      rejectWhenClosed();
      const digest = digestOf(bytes);
      const blobs = tenants.get(tenant) ?? new Map<Digest, Blob>();
      const known = blobs.get(digest);
      if (known !== undefined) {
        known.putAt = now();
        return digest;
      }
      if (size + bytes.length > maxBytes) {
        throw new JournalError(
          'full',
          `The memory blob store holds ${size} of at most ${maxBytes} bytes: ${bytes.length} more do not fit. ` +
            'Configure a directory for blobs.',
        );
      }
      size += bytes.length;
      // A copy: the caller may use its buffer again.
      blobs.set(digest, { bytes: Uint8Array.from(bytes), putAt: now() });
      tenants.set(tenant, blobs);
      return digest;
    },

    async read(tenant, digest) {
      rejectWhenClosed();
      const blob = tenants.get(tenant)?.get(digest);
      return blob === undefined ? undefined : chunksOf(blob.bytes);
    },

    async *collect({ putBefore, unreferenced }) {
      rejectWhenClosed();
      for (const [tenant, blobs] of tenants) {
        const old = [...blobs].filter(([, blob]) => blob.putAt < putBefore).map(([digest]) => digest);
        for (let start = 0; start < old.length; start += BLOBS_PER_STEP) {
          yield remove(
            blobs,
            await unreferenced(tenant, old.slice(start, start + BLOBS_PER_STEP)),
            putBefore,
          );
        }
        if (blobs.size === 0) tenants.delete(tenant);
      }
    },

    async close() {
      closed = true;
      tenants.clear();
    },
  };
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += BLOB_CHUNK_BYTES) {
    yield bytes.slice(start, start + BLOB_CHUNK_BYTES);
  }
}
