import { MAX_CONNECTOR_WORDS } from '../core/limits.ts';

/** What is left of a credential in a text. */
const REDACTED = '[redacted]';
/** Shorter texts occur by chance, and are no credential that is worth its name. */
const MIN_SECRET_CHARS = 4;

/**
 * A server's own words, for an operator or a model: on one line, of bounded length, and without the credentials that
 * the server was given, which it may have put into them.
 */
export function wordsOf(text: string, secrets: Iterable<string>): string {
  const redacted = [...secrets]
    .filter((secret) => secret.length >= MIN_SECRET_CHARS)
    // A longer one may hold a shorter one.
    .sort((a, b) => b.length - a.length)
    .reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
  const line = redacted.replace(/[\s\p{C}]+/gu, ' ').trim();
  return line.length <= MAX_CONNECTOR_WORDS ? line : `${line.slice(0, MAX_CONNECTOR_WORDS - 1)}…`;
}

/** What an error says. Whatever a library throws, this gives words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
