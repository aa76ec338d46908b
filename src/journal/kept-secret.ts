import { readIfThere, writeDurably } from './private-file.ts';

/**
 * A secret that outlives the process, readable by this user alone: the one in the file, or where it holds none of
 * this length, `fresh`. The journal's lock makes its holder the only writer. Rejects for a file that cannot be read.
 */
export async function keptSecret(path: string, fresh: Uint8Array): Promise<Uint8Array> {
  const kept = await readIfThere(path);
  if (kept?.byteLength === fresh.byteLength) return kept;
  await writeDurably(path, fresh, 'w');
  return fresh;
}
