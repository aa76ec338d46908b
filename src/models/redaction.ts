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

/**
 * What a URL holds besides its place: the name and password before its host, and the values of its query. Errors of a
 * connection quote the URL as it was written, others quote its parts decoded.
 */
export function secretsOfUrl(url: string | undefined): readonly string[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const { username, password, search, searchParams } = new URL(url);
  const written = search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1));
  const userinfo = /^[^/]*\/\/([^/?#]*)@/.exec(url)?.[1]?.split(':') ?? [];
  return [username, password, ...userinfo, ...written, ...searchParams.values()];
}
