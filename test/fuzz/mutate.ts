import type { RandomSource } from '../schema/fuzz/random.ts';

const INTERESTING = [0, 1, 0x7f, 0x80, 0xff, 0xc0, 0x22, 0x5c] as const;

/** Bytes with a few changes of the kinds that parsers stumble over: flips, cuts, copies, lengths that lie. */
export function mutateBytes(random: RandomSource, bytes: Uint8Array): Uint8Array {
  let mutated = Buffer.from(bytes);
  for (let times = random.below(6); times >= 0; times -= 1) mutated = mutateOnce(random, mutated);
  return mutated;
}

function mutateOnce(random: RandomSource, bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  const at = random.below(bytes.length + 1);
  const before = bytes.subarray(0, at);
  const after = bytes.subarray(at);
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([before, Buffer.from([random.below(256)]), after]);
    case 1:
      return Buffer.concat([before, bytes.subarray(Math.min(at + 1 + random.below(8), bytes.length))]);
    case 2:
      return Buffer.concat([before, Buffer.from([random.pick(INTERESTING)]), after.subarray(1)]);
    case 3:
      return Buffer.concat([before, after, after]);
    case 4:
      return Buffer.from(before);
    default:
      return Buffer.concat([before, Buffer.alloc(1 + random.below(20), 0xff), after]);
  }
}

const PIECES = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\0',
  '\ud800',
  '=',
  '#',
  '\n',
  '-1',
  '1e999',
  'null',
  '…',
  ' ',
] as const;

/** A text with a few pieces put in, cut out or doubled. */
export function mutateText(random: RandomSource, text: string): string {
  let mutated = text;
  for (let times = random.below(5); times >= 0; times -= 1) {
    const at = random.below(mutated.length + 1);
    const cut = random.below(3) === 0 ? random.below(10) : 0;
    mutated = mutated.slice(0, at) + random.pick(PIECES) + mutated.slice(at + cut);
  }
  return mutated;
}
