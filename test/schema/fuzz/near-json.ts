import fc from 'fast-check';

const PIECES = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"',
  "'",
  '"a"',
  '"b":',
  '"a":1,',
  "'c'",
  'd',
  '1',
  '-0',
  '1.5e3',
  '01',
  'true',
  'tru',
  'null',
  'NaN',
  ' ',
  '\n',
  '\t',
  '\\',
  '\\"',
  "\\'",
  '\\u0061',
  '\\ud83d',
  '\\ude00',
  '//',
  '/*',
  '*/',
  '```',
  '```json\n',
  '__proto__',
  '"constructor":',
  '\ufeff',
  '\ud800',
  'é',
  '😀',
  '}}',
  '{}',
  '[]',
];

/** Text from pieces of JSON, of what models write instead, and of what attackers do. */
export const pieces: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 14 })
  .map((parts) => parts.join(''));

/** JSON with a little damage: a span taken out, doubled, or replaced by a piece. */
export const damaged: fc.Arbitrary<string> = fc
  .tuple(fc.jsonValue({ maxDepth: 3 }), fc.nat(), fc.nat(4), fc.constantFrom('', '', ...PIECES))
  .map(([value, at, length, piece]) => {
    const text = JSON.stringify(value);
    const start = at % (text.length + 1);
    return text.slice(0, start) + piece + text.slice(start + length);
  });

export const nearJson: fc.Arbitrary<string> = fc.oneof(pieces, damaged);
