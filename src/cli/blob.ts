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
  const { output, json = false } = flags;
  if (output === undefined && !json && process.stdout.isTTY) {
    throw new CommandError(
      EXIT.usage,
      'usage',
      'Bytes would garble the terminal.',
      'Name a file with --output, or redirect standard output.',
    );
  }
  await withClient(flags, async (client) => {
    const bytes = await begun(client.readBlob(uri));
    if (output !== undefined) {
      const file = createWriteStream(output);
      await pipeline(bytes, file).catch((error: unknown) => {
        throw file.errored === null ? error : unwritable(output, file.errored);
      });
      if (json) say({ uri, sizeBytes: file.bytesWritten, output });
    } else if (json) {
      const data = Buffer.concat(await bytes.toArray());
      say({ uri, sizeBytes: data.byteLength, data: data.toString('base64') });
    } else {
      await pipeline(bytes, process.stdout, { end: false });
    }
  });
}

/** The bytes once the first of them are there: for a blob that nobody has, no file is made. */
async function begun(bytes: AsyncIterableIterator<Uint8Array>): Promise<Readable> {
  const first = await bytes.next();
  async function* all(): AsyncGenerator<Uint8Array> {
    if (first.done === true) return;
    yield first.value;
    yield* bytes;
  }
  return Readable.from(all(), { objectMode: true });
}

function unwritable(output: string, error: Error): CommandError {
  return new CommandError(
    EXIT.usage,
    'unwritable',
    `${output} cannot be written: ${error.message}.`,
    'Name a file in a folder that is there, and that you may write.',
  );
}

function say(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
