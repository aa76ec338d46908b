/** Shorter texts are no secrets, and would redact words. */
const MIN_SECRET_CHARS = 6;
/** What keys of the great providers look like, whole or masked: their errors quote parts of them. */
const LIKE_A_KEY = /\b(?:sk|pk|rk|xai|gsk|AIza)[-_A-Za-z0-9*]{8,}/g;
const REDACTED = '[redacted]';

/** Takes secrets out of foreign text: a provider's error may quote the key or a header that it was sent (9.4). */
export function createRedaction(secrets: readonly (string | undefined)[]): (text: string) => string {
  const known = secrets
    .filter((secret) => secret !== undefined && secret.length >= MIN_SECRET_CHARS)
    // The longest first: one may be part of another.
    .sort((a, b) => (b?.length ?? 0) - (a?.length ?? 0));
  return (text) =>
    known
      .reduce<string>((redacted, secret) => redacted.replaceAll(secret ?? '', REDACTED), text)
      .replaceAll(LIKE_A_KEY, REDACTED);
}
