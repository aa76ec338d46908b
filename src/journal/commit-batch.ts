import type { Digest, SessionHead, SessionKey } from '../engine/ports.ts';
import type { NamedDefinition, PackedCommit } from './thread-protocol.ts';

/** An append whose events are bytes already: one piece of the log (log-piece.ts). */
export interface EncodedAppend {
  readonly key: SessionKey;
  readonly expectedSequence: number;
  /** What never changes after the first append, and is sent with that one alone. */
  readonly identity: Omit<SessionHead, 'unfinished'> | undefined;
  /** When the session ended if it did so now, in whole milliseconds; absent while it is unfinished. */
  readonly endedAt: number | undefined;
  readonly count: number;
  readonly piece: Uint8Array;
  readonly blobs: readonly Digest[];
  readonly definitions: readonly Digest[];
}

/** Times do not fit one number of 32 bits. */
const HIGH_WORD = 2 ** 32;

/**
 * Appends travel to the thread as one array of numbers, one of texts and one block of bytes. Cloning an object
 * and a byte array for each of them took four times as long: 4 µs instead of 1 µs each.
 */
export function packCommit(calls: readonly (readonly EncodedAppend[])[]): PackedCommit {
  const numbers: number[] = [calls.length];
  const texts: string[] = [];
  const definitions = new Map<string, NamedDefinition>();
  let size = 0;
  for (const appends of calls) {
    numbers.push(appends.length);
    for (const {
      key,
      expectedSequence,
      endedAt,
      identity,
      count,
      piece,
      blobs,
      definitions: named,
    } of appends) {
      numbers.push(expectedSequence, endedAt === undefined ? 1 : 0, count, piece.length, blobs.length);
      if (endedAt !== undefined) numbers.push(Math.floor(endedAt / HIGH_WORD), endedAt % HIGH_WORD);
      texts.push(key.tenant, key.sessionId, ...blobs);
      for (const digest of named) definitions.set(digest + key.tenant, { tenant: key.tenant, digest });
      if (identity !== undefined) texts.push(identity.kind, identity.name, identity.subject);
      size += piece.length;
    }
  }
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const appends of calls) {
    for (const { piece } of appends) {
      bytes.set(piece, offset);
      offset += piece.length;
    }
  }
  return { numbers: Uint32Array.from(numbers), texts, bytes, definitions: [...definitions.values()] };
}

export interface UnpackedAppend {
  readonly tenant: string;
  readonly sessionId: string;
  readonly expectedSequence: number;
  readonly unfinished: number;
  /** Absent while it is unfinished. */
  readonly endedAt: number | undefined;
  readonly blobs: readonly Digest[];
  /** Absent unless expectedSequence is 0. */
  readonly identity: { readonly kind: string; readonly name: string; readonly subject: string } | undefined;
  readonly count: number;
  readonly piece: Uint8Array;
}

/** The calls of a packed commit, in the order in which they were made. */
export function unpackCommit({
  numbers,
  texts,
  bytes,
}: PackedCommit): readonly (readonly UnpackedAppend[])[] {
  let numberIndex = 0;
  let textIndex = 0;
  let offset = 0;
  const number = (): number => numbers[numberIndex++] ?? outOfStep();
  const text = (): string => texts[textIndex++] ?? outOfStep();
  const append = (): UnpackedAppend => {
    const expectedSequence = number();
    const unfinished = number();
    const count = number();
    const start = offset;
    offset += number();
    const piece = bytes.subarray(start, offset);
    const blobCount = number();
    const endedAt = unfinished === 1 ? undefined : number() * HIGH_WORD + number();
    const tenant = text();
    const sessionId = text();
    const blobs = blobCount === 0 ? NONE : Array.from({ length: blobCount }, text);
    const identity = expectedSequence === 0 ? { kind: text(), name: text(), subject: text() } : undefined;
    return { tenant, sessionId, expectedSequence, unfinished, endedAt, blobs, identity, count, piece };
  };
  return Array.from({ length: number() }, () => Array.from({ length: number() }, append));
}

const NONE: readonly Digest[] = [];

function outOfStep(): never {
  throw new Error('a packed commit is shorter than it says: packing and unpacking disagree');
}
