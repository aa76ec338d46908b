import { readFile, stat } from 'node:fs/promises';
import { JournalError } from './journal-error.ts';
import { hasCode } from './private-file.ts';

// The format of a write-ahead log: https://www.sqlite.org/fileformat2.html#walformat
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The magic number without its last bit, which tells the byte order of the checksums. */
const MAGIC = 0x377f0682;
const MAX_PAGE_BYTES = 65_536;

/** The running checksum of a log: two words. */
type Checksum = readonly [number, number];

interface Header {
  readonly pageSize: number;
  readonly littleEndian: boolean;
  /** Changes with every generation of the log; frames of an older one do not count. */
  readonly salts: bigint;
  readonly checksum: Checksum;
}

/**
 * Throws where the write-ahead log that a crash left behind is damaged before its end (7.4).
 *
 * SQLite takes the first frame whose checksum fails for the torn end of the log, and forgets what follows without
 * a word. A torn end is at most one commit, for each is synced before the next begins, so two commits behind the
 * bad frame prove that synced data was changed. What cannot be told from a torn end is damage to the last commit
 * and a log that was cut off or taken away.
 */
export async function checkWal(path: string): Promise<void> {
  const wal = await readIfThere(`${path}-wal`);
  if (wal === undefined || wal.length < HEADER_BYTES) return;
  if ((await stat(path)).size === 0) throw damaged(path, 'the database is empty, but its log is not');
  const header = readHeader(wal);
  const good = header === undefined ? 0 : countGoodFrames(wal, header);
  const layout = header ?? guessLayout(wal);
  if (countCommits(wal, layout, good + (header === undefined ? 0 : 1)) >= 2) {
    throw damaged(path, header === undefined ? 'its header is broken' : `frame ${good + 1} is broken`);
  }
}

function readHeader(wal: Buffer): Header | undefined {
  const magic = wal.readUInt32BE(0);
  const pageSize = wal.readUInt32BE(8);
  // With the bit set, words are summed as big-endian numbers.
  const littleEndian = magic === MAGIC;
  const checksum = sum(wal, 0, HEADER_BYTES - 8, littleEndian, [0, 0]);
  const valid =
    (magic === MAGIC || magic === MAGIC + 1) &&
    isPageSize(pageSize) &&
    checksum[0] === wal.readUInt32BE(24) &&
    checksum[1] === wal.readUInt32BE(28);
  return valid ? { pageSize, littleEndian, salts: wal.readBigUInt64BE(16), checksum } : undefined;
}

/** Where the header cannot be trusted, the first frame tells the generation; the size of pages is our own. */
function guessLayout(wal: Buffer): Pick<Header, 'pageSize' | 'salts'> {
  const salts = wal.length < HEADER_BYTES + FRAME_HEADER_BYTES ? 0n : wal.readBigUInt64BE(HEADER_BYTES + 8);
  return { pageSize: 4_096, salts };
}

/** The frames from the start whose salts and checksums fit. */
function countGoodFrames(wal: Buffer, { pageSize, littleEndian, salts, checksum }: Header): number {
  const frameSize = FRAME_HEADER_BYTES + pageSize;
  let running = checksum;
  let count = 0;
  for (let at = HEADER_BYTES; at + frameSize <= wal.length; at += frameSize) {
    running = sum(wal, at, 8, littleEndian, running);
    running = sum(wal, at + FRAME_HEADER_BYTES, pageSize, littleEndian, running);
    const fits =
      wal.readBigUInt64BE(at + 8) === salts &&
      wal.readUInt32BE(at + 16) === running[0] &&
      wal.readUInt32BE(at + 20) === running[1];
    if (!fits) return count;
    count += 1;
  }
  return count;
}

/** Frames of this generation, from one on, that end a commit. */
function countCommits(
  wal: Buffer,
  { pageSize, salts }: Pick<Header, 'pageSize' | 'salts'>,
  from: number,
): number {
  const frameSize = FRAME_HEADER_BYTES + pageSize;
  let commits = 0;
  for (let at = HEADER_BYTES + from * frameSize; at + frameSize <= wal.length; at += frameSize) {
    // The second word of a frame's header is the size of the database after a commit, and 0 in other frames.
    if (salts !== 0n && wal.readBigUInt64BE(at + 8) === salts && wal.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}

/** The checksum of the format: two words that run over pairs of words. */
function sum(
  bytes: Buffer,
  start: number,
  length: number,
  littleEndian: boolean,
  before: Checksum,
): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, length);
  let [first, second] = before;
  for (let at = 0; at < length; at += 8) {
    first = (first + view.getUint32(at, littleEndian) + second) >>> 0;
    second = (second + view.getUint32(at + 4, littleEndian) + first) >>> 0;
  }
  return [first, second];
}

function isPageSize(size: number): boolean {
  return size >= 512 && size <= MAX_PAGE_BYTES && (size & (size - 1)) === 0;
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    // Whole: checkpoints keep it to a few MiB.
    return await readFile(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function damaged(path: string, what: string): JournalError {
  return new JournalError(
    'corrupt',
    `The write-ahead log ${path}-wal is damaged: ${what}, and commits follow it. Opening it would lose them. ` +
      'Nothing was changed. Restore both files from a backup; moving the log away gives up what it holds.',
  );
}
