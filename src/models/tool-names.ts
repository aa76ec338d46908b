import { createHash } from 'node:crypto';

/** Names of tools as a provider takes them, and back (6.6). */
export interface ToolNames {
  /** The provider's name of a tool that `createToolNames` was told of. */
  toProvider(name: string): string;
  /** The tool's own name; what the provider made up comes back as it is. */
  fromProvider(name: string): string;
}

const HASH_CHARS = 8;

/**
 * Maps each name to one that the provider takes. A name that it takes stays; another loses the characters that it
 * refuses, and where two then are the same, or the name was too long, a hash of the whole name tells it apart. The
 * same names give the same mapping, in whatever order, as long as no name is given up.
 */
export function createToolNames(names: Iterable<string>, takes: RegExp, maxChars = 64): ToolNames {
  const unique = [...new Set(names)];
  const kept = new Set(unique.filter((name) => takes.test(name)));
  const plain = new Map(unique.filter((name) => !kept.has(name)).map((name) => [name, sanitized(name)]));
  const counts = new Map<string, number>();
  for (const candidate of plain.values()) counts.set(candidate, (counts.get(candidate) ?? 0) + 1);
  const toProvider = new Map<string, string>([...kept].map((name) => [name, name]));
  const fromProvider = new Map<string, string>(toProvider);
  for (const [name, candidate] of plain) {
    const alone = counts.get(candidate) === 1 && !kept.has(candidate) && takes.test(candidate);
    const mapped = alone ? candidate : hashed(name, candidate, fromProvider, takes, maxChars);
    toProvider.set(name, mapped);
    fromProvider.set(mapped, name);
  }
  return {
    toProvider: (name) => toProvider.get(name) ?? name,
    fromProvider: (name) => fromProvider.get(name) ?? name,
  };
}

/** A letter first: some providers want one. */
function sanitized(name: string): string {
  const safe = name.replaceAll(/[^A-Za-z0-9_-]/gu, '_');
  return /^[A-Za-z_]/.test(safe) ? safe : `t_${safe}`;
}

function hashed(
  name: string,
  candidate: string,
  taken: ReadonlyMap<string, string>,
  takes: RegExp,
  maxChars: number,
): string {
  const digest = createHash('sha256').update(name).digest('hex');
  // A longer part of the digest, should the name of another tool end in the same characters.
  for (let chars = HASH_CHARS; chars <= digest.length; chars += HASH_CHARS) {
    const mapped = `${candidate.slice(0, Math.max(1, maxChars - chars - 1))}_${digest.slice(0, chars)}`;
    if (!taken.has(mapped) && takes.test(mapped)) return mapped;
  }
  return `t_${digest.slice(0, maxChars - 2)}`;
}
