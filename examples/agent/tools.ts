import { defineTool, type Tool, ToolError } from 'spindle/worker';
import { z } from 'zod';
import type { Folder } from './folder.ts';

/** Tools for an agent that looks after the text files of one folder. */
export function folderTools(folder: Folder): readonly Tool[] {
  const listFiles = defineTool({
    name: 'list_files',
    description: 'Lists the files in a folder.',
    schema: z.object({
      folder: z.string().default('.').describe('The folder; leave it out for all of them'),
    }),
    outputSchema: z.object({ files: z.array(z.string()) }),
    annotations: { readOnly: true },
    describeActivity: (args) => `Listing ${args.folder}`,
    execute: async (args) => ({ files: await folder.list(args.folder) }),
  });

  const readFile = defineTool({
    name: 'read_file',
    description: 'Reads a text file.',
    schema: z.object({ path: z.string().describe('The path of the file') }),
    annotations: { readOnly: true },
    describeActivity: ({ path }) => `Reading ${path}`,
    execute: ({ path }) => folder.read(path),
  });

  const countWords = defineTool({
    name: 'count_words',
    description: 'Counts the words and lines of a text file.',
    schema: z.object({ path: z.string().describe('The path of the file') }),
    outputSchema: z.object({ words: z.int(), lines: z.int() }),
    annotations: { readOnly: true },
    describeActivity: ({ path }) => `Counting the words of ${path}`,
    async execute({ path }) {
      const text = await folder.read(path);
      return {
        words: text.match(/\S+/g)?.length ?? 0,
        lines: text === '' ? 0 : text.trimEnd().split('\n').length,
      };
    },
  });

  const searchText = defineTool({
    name: 'search_text',
    description: 'Searches the files of a folder for a text, and finds the lines that hold it.',
    schema: z.object({
      text: z.string().min(1).describe('The text to search for'),
      folder: z.string().default('.').describe('The folder; leave it out for all of them'),
    }),
    outputSchema: z.object({
      matches: z.array(z.object({ path: z.string(), line: z.int(), text: z.string() })),
    }),
    annotations: { readOnly: true },
    describeActivity: ({ text }) => `Searching for ${text}`,
    async execute({ text, folder: where }, { signal }) {
      const matches: { path: string; line: number; text: string }[] = [];
      for (const path of await folder.list(where)) {
        signal.throwIfAborted();
        // A file that is too large, or that has just gone, holds nothing that could be shown.
        const content = await folder.read(path).catch((error: unknown) => {
          if (error instanceof ToolError) return '';
          throw error;
        });
        for (const [index, line] of content.split('\n').entries()) {
          if (line.includes(text) && matches.length < MAX_MATCHES)
            matches.push({ path, line: index + 1, text: line.trim() });
        }
      }
      return { matches };
    },
  });

  const writeNote = defineTool({
    name: 'write_note',
    description: 'Writes a note into a new text file.',
    schema: z.object({
      name: z
        .string()
        .regex(/^[\w-]+\.(?:md|txt)$/)
        .describe('The name of the new file, ending in .md or .txt'),
      text: z.string().min(1).describe('What the note says'),
    }),
    outputSchema: z.object({ path: z.string(), words: z.int() }),
    annotations: { destructive: false },
    executionMode: 'sequential',
    describeActivity: ({ name }) => `Writing ${name}`,
    async execute({ name, text }) {
      await folder.create(name, `${text}\n`);
      return { path: name, words: text.match(/\S+/g)?.length ?? 0 };
    },
  });

  return [listFiles, readFile, countWords, searchText, writeNote];
}

const MAX_MATCHES = 100;
