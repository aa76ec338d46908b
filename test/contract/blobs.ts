import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BLOB_CHUNK_BYTES } from '../../src/core/limits.ts';
import type { Blobs } from '../../src/engine/ports.ts';
import { collect } from './session-events.ts';

/** What every blob store does. An implementation's test calls it, and adds what is its own. */
export function describeBlobs(name: string, open: () => Promise<Blobs>): void {
  describe(`${name}: the contract of blobs`, () => {
    let blobs: Blobs;
    beforeEach(async () => {
      blobs = await open();
    });
    afterEach(() => blobs.close());

    async function bytesOf(tenant: string, digest: string): Promise<Buffer | undefined> {
      const chunks = await blobs.read(tenant, digest);
      return chunks === undefined ? undefined : Buffer.concat(await collect(chunks));
    }

    it('3.3: bytes are named by their sha-256 and read back as they were', async () => {
      const bytes = Buffer.from('bytes never enter the log');
      const digest = await blobs.put('acme', bytes);
      expect(digest).toBe(`sha256-${createHash('sha256').update(bytes).digest('hex')}`);
      expect(await bytesOf('acme', digest)).toEqual(bytes);
    });

    it.each([0, 1, BLOB_CHUNK_BYTES - 1, BLOB_CHUNK_BYTES, BLOB_CHUNK_BYTES + 1, 5 * BLOB_CHUNK_BYTES + 7])(
      '%d bytes come in chunks that fit a message',
      async (size) => {
        const bytes = Buffer.alloc(size, 'spindle');
        const chunks = await collect((await blobs.read('acme', await blobs.put('acme', bytes))) ?? nothing());
        expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
        expect(Math.max(0, ...chunks.map((chunk) => chunk.length))).toBeLessThanOrEqual(BLOB_CHUNK_BYTES);
      },
    );

    it('any bytes are read back', async () => {
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 512 }), async (bytes) => {
          expect(await bytesOf('acme', await blobs.put('acme', bytes))).toEqual(Buffer.from(bytes));
        }),
        { numRuns: 20 },
      );
    });

    it('the buffer that was put may be used again', async () => {
      const bytes = Buffer.from('first');
      const digest = await blobs.put('acme', bytes);
      bytes.write('other');
      expect(await bytesOf('acme', digest)).toEqual(Buffer.from('first'));
    });

    it('the same bytes may be put at once and again', async () => {
      const bytes = Buffer.alloc(200_000, 'again');
      const digests = await Promise.all(Array.from({ length: 8 }, () => blobs.put('acme', bytes)));
      digests.push(await blobs.put('acme', bytes));
      expect(new Set(digests).size).toBe(1);
      expect((await bytesOf('acme', digests[0] ?? ''))?.equals(bytes)).toBe(true);
    });

    it("9.3: another tenant's blob is not there", async () => {
      const digest = await blobs.put('acme', Buffer.from('secret'));
      expect(await blobs.read('rival', digest)).toBeUndefined();
    });

    it.each([
      '',
      '.',
      '..',
      '../acme',
      'a/b',
      'ACME',
      '~',
      '.incoming',
      'zero\0byte',
      '🧵',
      'x'.repeat(5_000),
    ])('any text may be a tenant: %j', async (tenant) => {
      const digest = await blobs.put(tenant, Buffer.from(tenant));
      expect(await bytesOf(tenant, digest)).toEqual(Buffer.from(tenant));
      expect(await blobs.read('acme', digest)).toBeUndefined();
    });

    it.each([
      '',
      'sha256-',
      '../../etc/passwd',
      `sha256-${'0'.repeat(64)}`,
      `sha256-${'A'.repeat(64)}`,
      `sha256-${'0'.repeat(64)}/../x`,
      `sha256-${'../'.repeat(21)}x`,
      `sha256-${'0'.repeat(64)}\n`,
    ])('a digest that names nothing is not found: %j', async (digest) => {
      expect(await blobs.read('acme', digest)).toBeUndefined();
    });

    it('rejects after close', async () => {
      const digest = await blobs.put('acme', Buffer.from('x'));
      await blobs.close();
      const closed = expect.objectContaining({ name: 'JournalError', kind: 'closed' });
      await expect(blobs.put('acme', Buffer.from('y'))).rejects.toEqual(closed);
      await expect(blobs.read('acme', digest)).rejects.toEqual(closed);
    });
  });
}

function nothing(): never {
  throw new Error('the blob that was put is not there');
}
