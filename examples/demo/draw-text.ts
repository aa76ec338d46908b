import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const GREYSCALE_8_BIT = [8, 0, 0, 0, 0];
const PAPER = 0xff;
const INK = 0x30;

/** A text as a greyscale PNG: one pixel a character, dark where it is not white space. */
export function drawText(lines: readonly string[]): Buffer {
  const width = Math.max(1, ...lines.map((line) => line.length));
  const rows = lines.map((line) => {
    const row = Buffer.alloc(1 + width, PAPER);
    // The first byte of a row names its filter; 0 is none.
    row[0] = 0;
    for (const [x, character] of line.split('').entries()) {
      if (character.trim() !== '') row[1 + x] = INK;
    }
    return row;
  });
  const header = Buffer.alloc(8);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(lines.length, 4);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', Buffer.concat([header, Buffer.from(GREYSCALE_8_BIT)])),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Length, type, data and checksum, as the PNG specification wants them (section 5.3). */
function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}
