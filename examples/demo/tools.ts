import { watch } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CallStopped, defineTool, image, result, type Tool, ToolError } from 'spindle/worker';
import { z } from 'zod';
import { drawText } from './draw-text.ts';
import { projectFiles, readProjectFile, wordsIn } from './project-files.ts';
import { ROOT, type Step } from './record.ts';

export interface DemoToolsOptions {
  /** Where handlers leave what is to be seen afterwards. */
  readonly workspace: string;
  /** The step whose tool is to do it wrong. */
  readonly broken: Step | undefined;
}

/** How long the eighth of eight parallel calls is waited for, before the first gives up. */
const TOGETHER_MS = 1_500;

/** The tools of the demo. Each does real work on the files of this project. */
export function demoTools({ workspace, broken }: DemoToolsOptions): readonly Tool[] {
  const searchText = defineTool({
    name: 'search_text',
    description: 'Finds a text in the TypeScript files of a folder.',
    schema: z.object({ text: z.string().min(1), folder: z.string() }),
    outputSchema: z.object({ matches: z.int(), files: z.int() }),
    annotations: { readOnly: true },
    async execute({ text, folder }, { signal }) {
      let matches = 0;
      let files = 0;
      for (const path of await projectFiles(folder, '.ts')) {
        signal.throwIfAborted();
        const found = (await readProjectFile(path)).split(text).length - 1;
        matches += found;
        if (found > 0) files += 1;
      }
      return { matches: broken === 'good' ? matches + 1 : matches, files };
    },
  });

  const readLines = defineTool({
    name: 'read_lines',
    description: 'Reads the lines of a file from one number to another, both included.',
    schema: z.object({ path: z.string(), from: z.int().min(1), to: z.int().min(1) }),
    annotations: { readOnly: true },
    argumentRepair: broken === 'repair' ? 'never' : 'bounded',
    async execute({ path, from, to }, { input }) {
      const lines = (await readProjectFile(path)).split('\n').slice(from - 1, to);
      return result({
        content: lines.join('\n'),
        details: { repairs: input.status === 'malformed' ? [] : input.repairs },
      });
    },
    // Without this the error that the engine proposes is accepted, which is what a model should read.
    ...(broken === 'mismatch'
      ? { onInvalidInput: (input) => input.runWith({ path: 'README.md', from: 1, to: 1 }) }
      : {}),
  });

  const countWords = defineTool({
    name: 'count_words',
    description:
      'Counts the words of all files of one language, from an index that is made when it is first needed.',
    schema: z.object({ extension: z.enum(['.ts', '.proto', '.md']) }),
    outputSchema: z.object({ words: z.int(), files: z.int() }),
    annotations: { readOnly: true },
    retry: { maxAttempts: 3, initialBackoffMs: 50 },
    async execute({ extension }) {
      const index = join(workspace, `index${extension}.json`);
      const counted = await readFile(index, 'utf8').catch(() => undefined);
      if (counted !== undefined) return JSON.parse(counted);
      const folders = ['src', 'proto', 'docs'];
      const paths = (await Promise.all(folders.map((folder) => projectFiles(folder, extension)))).flat();
      const texts = await Promise.all(paths.map(readProjectFile));
      const words = texts.reduce((sum, text) => sum + wordsIn(text), 0);
      await writeFile(index, JSON.stringify({ words, files: paths.length }));
      throw new ToolError(`no index of ${extension} files yet, so it was made`, {
        code: 'index_missing',
        retryable: broken !== 'retry',
      });
    },
  });

  const awaitChange = defineTool({
    name: 'await_change',
    description: 'Waits until a file of the project changes.',
    schema: z.object({ path: z.string() }),
    retry: { runTimeoutMs: 300 },
    async execute({ path }, { signal, callId }) {
      if (broken === 'deadline') {
        // Deaf to its signal: the call ends in time all the same, and the handler goes on for nobody.
        await sleep(900);
        return 'unchanged';
      }
      const { promise: changed, resolve, reject } = Promise.withResolvers<string>();
      const watcher = watch(join(ROOT, path), () => resolve('changed'));
      signal.addEventListener('abort', () => reject(signal.reason));
      try {
        return await changed;
      } finally {
        watcher.close();
        if (signal.aborted) {
          const { reason }: CallStopped = signal.reason;
          await writeFile(join(workspace, `stopped-${callId}.json`), JSON.stringify({ callId, reason }));
        }
      }
    },
  });

  const countLines = defineTool({
    name: 'count_lines',
    description: 'Counts the lines of a file.',
    schema: z.object({ path: z.string() }),
    outputSchema: { type: 'object', properties: { lines: { type: 'integer' } }, required: ['lines'] },
    annotations: { readOnly: true },
    async execute({ path }) {
      const lines = (await readProjectFile(path)).split('\n').length;
      // A text where the schema promises a number: the mistake that this step shows.
      return { lines: broken === 'output' ? lines : `${lines} lines` };
    },
  });

  const drawFile = defineTool({
    name: 'draw_file',
    description: 'Draws a file as a picture: one dark pixel for each character that is not a space.',
    schema: z.object({ path: z.string() }),
    annotations: { readOnly: true },
    async execute({ path }) {
      const lines = (await readProjectFile(path)).trimEnd().split('\n');
      return image(drawText(broken === 'picture' ? lines.toReversed() : lines), 'image/png');
    },
  });

  const meeting = createMeeting();
  const measureFolder = defineTool({
    name: 'measure_folder',
    description:
      'Counts the words in the TypeScript files of a folder, once as many of its calls run as are asked for.',
    schema: z.object({ folder: z.string(), together: z.int().min(1) }),
    outputSchema: z.object({ words: z.int(), startedAt: z.number(), endedAt: z.number() }),
    maxConcurrency: broken === 'parallel' ? 1 : 0,
    async execute({ folder, together }) {
      const startedAt = performance.timeOrigin + performance.now();
      // Nobody goes on before the last one is here: they end only if they really run at the same time.
      await meeting.of(together);
      const texts = await Promise.all((await projectFiles(folder, '.ts')).map(readProjectFile));
      const words = texts.reduce((sum, text) => sum + wordsIn(text), 0);
      return { words, startedAt, endedAt: performance.timeOrigin + performance.now() };
    },
  });

  return [searchText, readLines, countWords, awaitChange, countLines, drawFile, measureFolder];
}

/** Resolves for all who wait once there are as many as each asked for; rejects for all once one waited too long. */
function createMeeting(): { of(count: number): Promise<void> } {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let present = 0;
  return {
    of(count) {
      present += 1;
      if (present === 1) {
        setTimeout(() => {
          const code = 'not_together';
          reject(new ToolError(`Fewer than ${count} calls ran at the same time.`, { code }));
        }, TOGETHER_MS).unref();
      }
      if (present === count) resolve();
      return promise;
    },
  };
}
