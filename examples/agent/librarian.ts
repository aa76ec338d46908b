import { readFile } from 'node:fs/promises';
import { defineAgent, defineTool } from 'spindle/worker';
import { z } from 'zod';

const countWords = defineTool({
  name: 'count_words',
  description: 'Counts the words of a text file.',
  schema: z.object({ path: z.string() }),
  outputSchema: z.object({ words: z.int() }),
  annotations: { readOnly: true },
  describeActivity: ({ path }) => `Counting the words of ${path}`,
  async execute({ path }, { signal }) {
    const text = await readFile(path, { encoding: 'utf8', signal });
    return { words: text.match(/\S+/g)?.length ?? 0 };
  },
});

export const librarian = defineAgent({
  id: 'librarian',
  model: 'local/demo', // no key, no network; anthropic/claude-haiku-4-5 is another
  system: 'You answer questions about text files.',
  tools: [countWords],
});
