import { describe, expect, it } from 'vitest';
import { createMemoryJournal } from '../../src/journal/memory.ts';
import { createMemoryBlobs } from '../../src/journal/memory-blobs.ts';
import { describeCollection } from '../contract/blob-collection.ts';
import { describeBlobs } from '../contract/blobs.ts';

describeBlobs('memory', async () => createMemoryBlobs());
describeCollection(
  'memory',
  async (now) => createMemoryBlobs({ now }),
  async () => createMemoryJournal(),
);

describe('the memory blob store', () => {
  it('refuses what does not fit, and still knows what it has', async () => {
    const blobs = createMemoryBlobs({ maxBytes: 10 });
    await blobs.put('acme', Buffer.alloc(6, 'a'));
    await expect(blobs.put('acme', Buffer.alloc(6, 'b'))).rejects.toMatchObject({ kind: 'full' });
    await blobs.put('acme', Buffer.alloc(6, 'a'));
    await blobs.put('acme', Buffer.alloc(4, 'c'));
  });
});
