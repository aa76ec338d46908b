/** Of the names that there are, those that are most like one that is not there, the likeliest first. */
export function nearestNames(names: readonly string[], name: string, count: number): string[] {
  return names
    .map((candidate) => ({ candidate, distance: bigramDistance(candidate, name) }))
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, count)
    .map(({ candidate }) => candidate);
}

/** One minus the share of common pairs of characters: cheap, and good enough for typing errors. */
function bigramDistance(a: string, b: string): number {
  const pairsA = bigrams(a);
  const pairsB = bigrams(b);
  const common = [...pairsA].filter((pair) => pairsB.has(pair)).length;
  return 1 - (2 * common) / Math.max(pairsA.size + pairsB.size, 1);
}

function bigrams(text: string): Set<string> {
  const padded = ` ${text.toLowerCase()} `;
  return new Set(Array.from({ length: padded.length - 1 }, (_, index) => padded.slice(index, index + 2)));
}
