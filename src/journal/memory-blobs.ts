import { BLOB_CHUNK_BYTES, MAX_MEMORY_BLOBS_BYTES } from '../core/limits.ts';
import type { Blobs } from '../engine/ports.ts';
import { digestOf } from './digest.ts';
import { JournalError } from './journal-error.ts';

export interface MemoryBlobsOptions {
  /** Beyond it `put` rejects with 'full'. */
  readonly maxBytes?: number;
}

/** Blobs that end with the process. */
export function createMemoryBlobs({ maxBytes = MAX_MEMORY_BLOBS_BYTES }: MemoryBlobsOptions = {}): Blobs {
  const tenants = new Map<string, Map<string, Uint8Array>>();
  let size = 0;
  let closed = false;

  function rejectWhenClosed(): void {
    if (closed) throw new JournalError('closed', 'The memory blob store is closed. Open another one.');
  }

  return {
    async put(tenant, bytes) {
      rejectWhenClosed();
      const digest = digestOf(bytes);
      const blobs = tenants.get(tenant) ?? new Map<string, Uint8Array>();
      if (blobs.has(digest)) return digest;
      if (size + bytes.length > maxBytes) {
        throw new JournalError(
          'full',
          `The memory blob store holds ${size} of at most ${maxBytes} bytes: ${bytes.length} more do not fit. ` +
            'Configure a directory for blobs.',
        );
      }
      size += bytes.length;
      // A copy: the caller may use its buffer again.
      blobs.set(digest, Uint8Array.from(bytes));
      tenants.set(tenant, blobs);
      return digest;
    },

    async read(tenant, digest) {
      rejectWhenClosed();
      const bytes = tenants.get(tenant)?.get(digest);
      return bytes === undefined ? undefined : chunksOf(bytes);
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
