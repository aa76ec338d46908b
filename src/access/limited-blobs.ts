import type { Blobs, Clock, JournalFault } from '../engine/ports.ts';
import { type Bucket, createBucket } from './bucket.ts';
import type { LimitSettings } from './settings.ts';

const SECONDS_PER_DAY = 24 * 3_600;

/**
 * Blobs of which each tenant may put so many bytes a day; with what retention removes, that bounds what it keeps. One
 * that is over meets a store that is full: nobody else does.
 */
export function limitBlobs(blobs: Blobs, { tenant: all, tenants }: LimitSettings, clock: Clock): Blobs {
  /** As many as there are tenants with a limit that have put something: operators name tenants. */
  const buckets = new Map<string, Bucket>();
  const limitOf = (tenant: string): number | undefined => (tenants[tenant] ?? all).blobBytesPerDay;
  return {
    ...blobs,
    async put(tenant, bytes) {
      const limit = limitOf(tenant);
      if (limit === undefined) return blobs.put(tenant, bytes);
      const bucket = buckets.get(tenant) ?? createBucket(limit / SECONDS_PER_DAY, clock.now(), limit);
      buckets.set(tenant, bucket);
      if (bucket.take(clock.now(), bytes.byteLength) !== undefined) throw full(limit);
      return blobs.put(tenant, bytes);
    },
  };
}

function full(limit: number): JournalFault {
  const error = new Error(
    `The tenant has stored as many bytes as it may in a day: blob_bytes_per_day is ${limit}.`,
  );
  return Object.assign(error, { name: 'JournalError', kind: 'full', written: 'nothing' } as const);
}
