import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { CommandError } from './command-error.ts';
import { addConnectionOptions, type ConnectionFlags, withClient } from './connection.ts';
import { EXIT } from './exit-code.ts';

interface BlobFlags extends ConnectionFlags {
  readonly output?: string;
}

export function defineBlob(command: Command): void {
  addConnectionOptions(command)
    .description('Writes the bytes of a blob reference to standard output, or to a file.')
    .argument('<uri>', 'blob:sha256-…, as a result names it')
    .option('-o, --output <file>', 'the file to write')
    .action(blob);
}

async function blob(uri: string, flags: BlobFlags): Promise<void> {
  const { output } = flags;
  if (output === undefined && process.stdout.isTTY) {
    throw new CommandError(
      EXIT.usage,
      'usage',
      'Bytes would garble the terminal.',
      'Name a file with --output, or redirect standard output.',
    );
  }
  await withClient(flags, async (client) => {
    const bytes = Readable.from(client.readBlob(uri), { objectMode: true });
    if (output === undefined) await pipeline(bytes, process.stdout, { end: false });
    else await pipeline(bytes, createWriteStream(output));
  });
}
