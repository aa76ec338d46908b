import MiniSearch from 'minisearch';
import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';

export interface Found {
  /** Best first. */
  readonly tools: readonly Tool[];
  /** How many more matched. */
  readonly leftOut: number;
}

/** Finds tools by what they do, over name, namespace and description. Empty words match every tool. */
export function searchTools(tools: readonly Tool[], query: string, maxMatches: number): Found {
  const matches = query.trim() === '' ? [...tools] : rank(tools, query);
  return { tools: matches.slice(0, maxMatches), leftOut: Math.max(matches.length - maxMatches, 0) };
}

function rank(tools: readonly Tool[], query: string): Tool[] {
  const index = new MiniSearch<{ id: number; name: string; namespace: string; description: string }>({
    fields: ['name', 'namespace', 'description'],
    // Names are written in one word: read_file and readFile are found by either of their words.
    tokenize: (text) =>
      text
        .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
        .split(/[^\p{L}\p{N}]+/u)
        .filter((word) => word !== ''),
    searchOptions: { boost: { name: 3, namespace: 2 }, prefix: true, fuzzy: 0.2 },
  });
  index.addAll(
    tools.map(({ name, namespace, namespaceDescription, description }, id) => ({
      id,
      name,
      namespace: `${namespace} ${namespaceDescription}`,
      description,
    })),
  );
  return index.search(query).flatMap(({ id }) => tools[id as number] ?? []);
}
