import { hash } from 'node:crypto';
import type { Digest } from '../engine/ports.ts';

const PREFIX = 'sha256-';
const FORM = /^sha256-[0-9a-f]{64}$/;

export function digestOf(bytes: Uint8Array): Digest {
  return `${PREFIX}${hash('sha256', bytes, 'hex')}`;
}

/** A name of another form names nothing, and no path is ever made of it. */
export function isDigest(text: string): boolean {
  return FORM.test(text);
}

/** The first byte of the hash as two digits: spreads files over 256 directories. */
export function firstDigits(digest: Digest): string {
  return digest.slice(PREFIX.length, PREFIX.length + 2);
}
