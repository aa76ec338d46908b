import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** What begins every token of Spindle, so that scanners for leaked secrets find one. */
const PREFIX = 'spindle_';
const SECRET_BYTES = 32;
const HASH_BYTES = 32;
/** Id and secret, in base64url. */
const FORM = /^spindle_([\w-]{1,64})\.([\w-]{43})$/;

export interface Secret {
  /** What its holder presents. */
  readonly text: string;
  readonly hash: Uint8Array;
}

/** A new secret for a token of this id. */
export function makeSecret(id: string): Secret {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { text: `${PREFIX}${id}.${secret}`, hash: hashOf(secret) };
}

/** The file beside the journal that lets whoever reads it make and end tokens of a running engine. */
export const ADMINISTRATOR_FILE = 'access.key';
/** No random id has this form: those have 22 characters. */
export const ADMINISTRATOR_ID = 'administrator';

/** What an administrator presents: the bytes of the key file under a name of its own. */
export function administratorToken(key: Uint8Array): string {
  return `${PREFIX}${ADMINISTRATOR_ID}.${Buffer.from(key).toString('base64url')}`;
}

export function hashOfKey(key: Uint8Array): Uint8Array {
  return hashOf(Buffer.from(key).toString('base64url'));
}

/** The id and the hash of a token that somebody presents; undefined for what is none. */
export function readToken(text: string): { readonly id: string; readonly hash: Uint8Array } | undefined {
  const [, id, secret] = FORM.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, hash: hashOf(secret) };
}

function hashOf(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest();
}

/** Compares in constant time. Without a kept hash it takes as long, so that an unknown id is no faster (9.2, 9.3). */
export function sameHash(given: Uint8Array, kept: Uint8Array | undefined): boolean {
  const same = timingSafeEqual(given, kept?.byteLength === HASH_BYTES ? kept : NO_HASH);
  return same && kept !== undefined;
}

const NO_HASH = new Uint8Array(HASH_BYTES);
