import { hash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BLOBS_PER_STEP } from '../core/limits.ts';
import type { Instant } from '../core/time.ts';
import type { Digest } from '../engine/ports.ts';
import { isDigest } from './digest.ts';

/** Tenants that are directories under their own name; the others are foreign text, and are hashed. */
const PLAIN_TENANT = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** Where a directory whose name is a hash keeps the name of its tenant. */
export const TENANT_FILE = '.tenant';

export function isPlainTenant(tenant: string): boolean {
  return PLAIN_TENANT.test(tenant);
}

export function tenantFolder(tenant: string): string {
  // "~" starts no plain name, so a hash never meets one.
  return isPlainTenant(tenant) ? tenant : `~${hash('sha256', tenant, 'hex')}`;
}

/** Blobs of one folder that were last put before an instant: at most BLOBS_PER_STEP, and perhaps none. */
export interface OldBlobs {
  readonly tenant: string;
  readonly folder: string;
  readonly digests: readonly Digest[];
}

/** Walks over all blobs. What is no blob is left alone, and so is a directory that nobody knows the tenant of. */
export async function* oldBlobs(directory: string, putBefore: Instant): AsyncGenerator<OldBlobs> {
  for (const name of await readdir(directory)) {
    const tenant = await tenantOf(directory, name);
    if (tenant === undefined) continue;
    for (const digits of await readdir(join(directory, name))) {
      if (!FIRST_DIGITS.test(digits)) continue;
      const folder = join(directory, name, digits);
      const digests = (await readdir(folder)).filter(isDigest);
      for (let start = 0; start < digests.length; start += BLOBS_PER_STEP) {
        const old = await olderThan(putBefore, folder, digests.slice(start, start + BLOBS_PER_STEP));
        yield { tenant, folder, digests: old };
      }
    }
  }
}

const FIRST_DIGITS = /^[0-9a-f]{2}$/;

async function tenantOf(directory: string, name: string): Promise<string | undefined> {
  if (isPlainTenant(name)) return name;
  const tenant = await readFile(join(directory, name, TENANT_FILE), 'utf8').catch(() => undefined);
  return tenant !== undefined && tenantFolder(tenant) === name ? tenant : undefined;
}

async function olderThan(
  putBefore: Instant,
  folder: string,
  digests: readonly Digest[],
): Promise<readonly Digest[]> {
  const old: Digest[] = [];
  for (const digest of digests) {
    // One that is gone was never ours to remove.
    const found = await stat(join(folder, digest)).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < putBefore) old.push(digest);
  }
  return old;
}
