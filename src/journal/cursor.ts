import { crc32 } from 'node:zlib';
import type { ListQuery } from '../engine/ports.ts';

const CURSOR_BYTES = 12;
const CURSOR_CHARS = 16;

/**
 * A cursor is the number of the last session of a page and a checksum over it and the query, so that one that
 * was cut, guessed or used with another filter is noticed. It gives no access: the query does.
 */
export function encodeCursor(query: ListQuery, position: number): string {
  const bytes = Buffer.alloc(CURSOR_BYTES);
  bytes.writeBigUInt64BE(BigInt(position));
  bytes.writeUInt32BE(checksum(query, position), 8);
  return bytes.toString('base64url');
}

/** The position after which the page begins; undefined for a cursor that was not made for this query. */
export function decodeCursor(query: ListQuery, cursor: string): number | undefined {
  if (cursor.length !== CURSOR_CHARS) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== CURSOR_BYTES) return undefined;
  const position = Number(bytes.readBigUInt64BE());
  if (!Number.isSafeInteger(position)) return undefined;
  return encodeCursor(query, position) === cursor ? position : undefined;
}

function checksum({ tenant, kind, subject, name, onlyUnfinished }: ListQuery, position: number): number {
  return crc32(JSON.stringify([tenant, kind, subject ?? null, name ?? null, onlyUnfinished, position]));
}
