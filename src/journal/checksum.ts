import { crc32 } from 'node:zlib';

/** What the checksums of a session's events start from, so that an event of another session does not fit. */
export function sessionSeed(tenant: string, sessionId: string): number {
  // The length keeps ("a", "bc") apart from ("ab", "c").
  return crc32(`${tenant.length}:${tenant}${sessionId}`);
}

/** Over session, sequence and bytes: a flipped bit, or a row in another's place, gives another number. */
export function eventChecksum(seed: number, sequence: number, bytes: Uint8Array): number {
  return crc32(bytes, (seed ^ sequence) >>> 0);
}
