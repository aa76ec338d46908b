import { createHash } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { defineTool, type Tool } from 'spindle/worker';
import { z } from 'zod';
import type { Folder } from './folder.ts';

/**
 * A tool that takes its time, so that something can happen to the engine meanwhile.
 *
 * @param ledger a file that gets a line each time the tool runs
 */
export function checksumsTool(folder: Folder, ledger: string): Tool {
  return defineTool({
    name: 'checksum_files',
    description: 'Computes the checksum of all files in a folder.',
    schema: z.object({
      folder: z.string().default('.').describe('The folder; leave it out for all of them'),
    }),
    outputSchema: z.object({ files: z.int(), checksum: z.string() }),
    describeActivity: () => 'Reading every file',
    async execute(args, { signal, callId }) {
      await appendFile(ledger, `${callId}\n`);
      const hash = createHash('sha256');
      const paths = await folder.list(args.folder);
      for (const path of paths) {
        await pause(PAUSE_MS, undefined, { signal });
        hash.update(await folder.read(path));
      }
      return { files: paths.length, checksum: hash.digest('hex').slice(0, 12) };
    },
  });
}

/** Between two files: twenty of them take two seconds. */
const PAUSE_MS = 100;
