import { inflateSync } from 'node:zlib';

export interface Picture {
  readonly width: number;
  readonly height: number;
  isDark(x: number, y: number): boolean;
}

/** Reads a greyscale PNG of 8 bits a pixel whose rows have no filter: the kind that the demo's tool makes. */
export function readPng(bytes: Buffer): Picture {
  if (bytes.subarray(1, 4).toString('latin1') !== 'PNG') throw new Error('these bytes are no PNG');
  const width = bytes.readUInt32BE(16);
  const height = bytes.readUInt32BE(20);
  if (bytes[24] !== 8 || bytes[25] !== 0) throw new Error('the PNG is not greyscale with 8 bits a pixel');
  const rows = inflateSync(Buffer.concat(dataChunks(bytes)));
  const stride = width + 1;
  if (rows.length !== stride * height) throw new Error('the PNG holds another number of pixels than it says');
  for (let y = 0; y < height; y += 1) {
    if (rows[y * stride] !== 0) throw new Error(`row ${y} of the PNG has a filter`);
  }
  return { width, height, isDark: (x, y) => (rows[y * stride + 1 + x] ?? 0xff) < 0x80 };
}

function dataChunks(bytes: Buffer): readonly Buffer[] {
  const chunks: Buffer[] = [];
  let at = 8;
  while (at + 12 <= bytes.length) {
    const length = bytes.readUInt32BE(at);
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT')
      chunks.push(bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return chunks;
}
