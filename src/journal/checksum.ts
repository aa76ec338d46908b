import { crc32 } from 'node:zlib';

/** What the checksums of a session's events start from, by its `sessionText`, so that an event of another session does not fit. */
export function sessionSeed(session: string): number {
  return crc32(session);
}

/** Names a session among those of all tenants. The length keeps ("a", "bc") apart from ("ab", "c"). */
export function sessionText(tenant: string, sessionId: string): string {
  return `${tenant.length}:${tenant}${sessionId}`;
}

/**
 * Over session, last sequence, number and bytes of some events: a flipped bit, or a row in another's place, gives
 * another number.
 */
export function pieceChecksum(seed: number, lastSequence: number, count: number, bytes: Uint8Array): number {
  return crc32(bytes, (seed ^ lastSequence ^ Math.imul(count - 1, COUNT_FACTOR)) >>> 0);
}

/** Spreads small counts over all bits, so that they do not cancel out small sequences: 2^32 by the golden ratio. */
const COUNT_FACTOR = 0x9e3779b1;
