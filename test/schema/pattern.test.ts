import { describe, expect, it } from 'vitest';
import { compilePattern, matchesPattern } from '../../src/schema/pattern.ts';

const free = () => ({ left: Number.POSITIVE_INFINITY });

function matches(source: string, text: string): boolean | string {
  const reading = compilePattern(source);
  return reading.kind === 'pattern' ? matchesPattern(reading.pattern, text, free()) : reading.kind;
}

const SOURCES = [
  'a',
  '^a$',
  'a.c',
  '^[^x]$',
  '\\d+',
  '\\D',
  '^\\w+$',
  '\\W',
  '\\s',
  '^\\S$',
  '[\\s]',
  '[^\\s]',
  '^[\\S]$',
  'a\\/b',
  '^\\.$',
  '[.]',
  '\\-',
  '^[\\w-.]+$',
  '^[\\w.-]+$',
  '[a-\\d]',
  '^[]$',
  '[^]',
  '[[]',
  '[\\]]',
  '[\\[\\]]',
  '[[:alpha:]]',
  '(?<y>\\d{4})-(?<m>\\d\\d)',
  '(?:ab)+c?',
  'a{2}',
  'a{2,}',
  '^a{1,3}$',
  'a+?b*?',
  '\\bfoo\\b',
  'o\\B',
  '\\t',
  '\\cJ',
  '\\0',
  '[\\b]',
  '\\x41',
  '\\u0041',
  '\\u{1f600}',
  '^.$',
  '\\ud83d\\ude00',
  '\\p{L}',
  '\\p{Lu}',
  '\\P{L}',
  '^\\p{Letter}+$',
  '\\p{Script=Greek}',
  '\\p{sc=Latin}',
  '\\p{Emoji}',
  '\\@',
  '\\_',
  '\\A',
  '\\z',
  '\\Q.',
  '\\C',
  '{',
  'a{',
  '}',
  ']',
  '^(a|b|)$',
  'x|y',
  '(a(b(c)))',
  '😀',
  '[😀é]',
  '^$',
  '',
  '\\$\\^',
  'a\\\\b',
  '&&',
  '[a&&b]',
  '[a~b^]',
  '\\p{digit}',
];
const TEXTS = [
  '',
  'a',
  'A',
  'abc',
  'a\nc',
  'ac',
  'aa',
  'aaaa',
  '7',
  '_',
  '-',
  '.',
  '/',
  'a/b',
  ' ',
  '\u00a0',
  '\ufeff',
  '\u2028',
  '\v',
  '\n',
  '\t',
  '\b',
  '\0',
  'foo bar',
  'foobar',
  '2024-05',
  'é',
  '😀',
  'Ω',
  'ß',
  '@',
  '[',
  ']',
  'a\\b',
  '$^',
  '&',
  '~',
  '^',
  '{',
  'a{',
  '}',
  'p{digit}',
  'z',
  'Q.',
  'C',
  '٣',
  ':',
  'x',
  'ab-c.d',
];

describe('patterns', () => {
  it('2.3: mean what ECMAScript says they mean', () => {
    const differences: unknown[] = [];
    for (const source of SOURCES) {
      for (const text of TEXTS) {
        const expected = ecmaScript(source).test(text);
        if (matches(source, text) !== expected) differences.push([source, text, matches(source, text)]);
      }
    }
    expect(differences).toEqual([]);
  });

  it.each([
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '(?<!a)',
    '(a)\\1',
    '(?<n>a)\\k<n>',
    '\\ud83d',
    'a{1001}',
    '(a{1000}){1000}',
    `a${'b?'.repeat(3_000)}`,
    '\\p{scx=Greek}',
    '\\01',
  ])('2.3: does not enforce %s, and says why', (source) => {
    expect(compilePattern(source)).toEqual({ kind: 'unenforced', reason: expect.stringMatching(/^it /) });
  });

  it.each(['(', ')', '[', 'a**', '*', '(?<n', '\\u{110000}+*', '[b-a]', '(?P<name>a)', '(?i)a', '(?#x)'])(
    '2.2: %s is no expression',
    (source) => {
      expect(compilePattern(source)).toEqual({ kind: 'invalid' });
    },
  );

  it.each(['^(a|a)*$', '^(a+)+$', '^(a*)*b', '([a-z]+)*@', '^(\\w+\\s?)*$', '(x+x+)+y'])(
    '2.3: %s, which stalls a backtracking engine, spends what it was charged',
    (source) => {
      const reading = compilePattern(source);
      if (reading.kind !== 'pattern') throw new Error(reading.kind);
      const budget = { left: 1_000_000 };
      matchesPattern(reading.pattern, `${'a'.repeat(5_000)}!`, budget);
      expect(budget.left).toBe(1_000_000 - reading.pattern.weight * 5_002);
      expect(() => matchesPattern(reading.pattern, 'a'.repeat(1_000_000), budget)).toThrow('budget');
    },
  );
});

function ecmaScript(source: string): RegExp {
  try {
    return new RegExp(source, 'u');
  } catch {
    return new RegExp(source);
  }
}
