import { datesIn, RELATIVE_DAYS, timesIn } from './dates.ts';
import type { Bare, MentionKind } from './mention.ts';
import { isFiller, isPreposition, stem } from './words.ts';

/** Finds the values whose form alone says what they are. They do not overlap, and come in the order of the text. */
export function recognize(text: string): Bare[] {
  const found: Bare[] = [];
  const free = (start: number, end: number): boolean =>
    found.every((other) => end <= other.start || start >= other.end);
  const add = (mention: Bare): void => {
    if (mention.end > mention.start && free(mention.start, mention.end)) found.push(mention);
  };

  for (const match of text.matchAll(QUOTED)) {
    const inner = match.slice(1).find((group) => group !== undefined) ?? '';
    add({ kind: 'quoted', text: inner, start: match.index, end: match.index + match[0].length });
  }
  for (const match of text.matchAll(STATEMENT)) {
    add({
      kind: 'statement',
      text: match[0].trim(),
      start: match.index,
      end: match.index + match[0].trimEnd().length,
    });
  }
  // A time of day may belong to its date, so tokens such as 2025-05-01T10:00:00Z come first.
  for (const token of tokensOf(text)) {
    const kind = KINDS.find(([, pattern]) => pattern.test(token.text))?.[0];
    if (kind !== undefined) add({ kind, ...token, ...(kind === 'moment' ? { iso: token.text } : {}) });
  }
  const dates = datesIn(text).filter(({ start, end }) => free(start, end));
  const times = timesIn(text).filter(({ start, end }) => free(start, end));
  for (const date of dates) {
    const time = times.find(
      ({ start }) => start >= date.end && /^,? ?(?:at )?$/.test(text.slice(date.end, start)),
    );
    if (time === undefined)
      add({ kind: 'date', text: date.iso, start: date.start, end: date.end, iso: date.iso });
    else {
      const iso = `${date.iso}T${time.iso}:00Z`;
      add({ kind: 'moment', text: iso, start: date.start, end: time.end, iso });
    }
  }
  for (const time of times)
    add({ kind: 'time', text: time.iso, start: time.start, end: time.end, iso: time.iso });
  for (const match of text.matchAll(RELATIVE_DAYS)) {
    const words = match[0].replace(/^on /i, '');
    const end = match.index + match[0].length;
    add({ kind: 'relative', text: words, start: end - words.length, end });
  }
  for (const token of tokensOf(text)) {
    if (CODE.test(token.text)) add({ kind: 'code', ...token, text: token.text.replace(/^#/, '') });
  }
  for (const match of text.matchAll(NUMBER)) {
    const number = numberIn(text, match);
    if (number !== undefined) add(number);
  }
  return found.toSorted((left, right) => left.start - right.start);
}

/** A straight single quote counts only at the edge of a word: else it is an apostrophe. */
const QUOTED = /"([^"]+)"|“([^”]+)”|`([^`]+)`|(?<=^|[\s(:])'([^']+)'(?=$|[\s).,;:!?])|«([^»]+)»/g;
/** A statement of SQL, which runs to its semicolon or to the end. */
const STATEMENT = /\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|WITH)\s[^;]+;?/g;

const KINDS: readonly (readonly [MentionKind, RegExp])[] = [
  ['email', /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/],
  ['url', /^[a-z][a-z0-9+.-]*:\/\/\S+$/i],
  ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i],
  ['moment', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/i],
  [
    'path',
    /^(?:(?:~|\.{1,2})?\/[^\s/]*(?:\/[^\s/]*)*|[\w@+.-]+(?:\/[\w@+.-]*)+|\.\w[\w.-]*|[\w@+-][\w@+.-]*\.[a-z][a-z0-9]{0,7})$/i,
  ],
];
const CODE = /^#?[A-Za-z][\w-]*\d[\w-]*$|^[A-Z]{2,6}$|^[A-Z]{2,4}\/[A-Z]{2,4}$/;
const NOT_PATHS = /^(?:e\.g|i\.e|a\.m|p\.m|and\/or|w\/o|n\/a)$/i;

function* tokensOf(
  text: string,
): Iterable<{ readonly text: string; readonly start: number; readonly end: number }> {
  for (const match of text.matchAll(/[^\s,;"“”`()[\]{}<>]+/g)) {
    const token = match[0].replace(/[.!?:…'’]+$/, '');
    if (token === '' || token.length > MAX_TOKEN_CHARS || NOT_PATHS.test(token)) continue;
    yield { text: token, start: match.index, end: match.index + token.length };
  }
}

/** Longer words are no values that anybody says; the patterns above are not run on them. */
const MAX_TOKEN_CHARS = 512;

const SIGNS: Readonly<Record<string, string>> = { '€': 'EUR', $: 'USD', '£': 'GBP', '¥': 'JPY' };
const CURRENCIES: Readonly<Record<string, string>> = {
  euro: 'EUR',
  eur: 'EUR',
  dollar: 'USD',
  usd: 'USD',
  buck: 'USD',
  pound: 'GBP',
  gbp: 'GBP',
  yen: 'JPY',
  jpy: 'JPY',
  franc: 'CHF',
  chf: 'CHF',
};
const COUNTS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ');
const TENS: Readonly<Record<string, number>> = {
  fifteen: 15,
  twenty: 20,
  thirty: 30,
  forty: 40,
  fifty: 50,
  sixty: 60,
  hundred: 100,
};
const NUMBER = new RegExp(
  `(?<![\\w.])([€$£¥])?\\s?(-?\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?|-?\\d+(?:\\.\\d+)?)(?![\\d-])(%|[€$£¥])?|\\b(${[...COUNTS, ...Object.keys(TENS)].join('|')})\\b`,
  'gi',
);

function numberIn(text: string, match: RegExpExecArray): Bare | undefined {
  const [whole, sign, digits, after, word] = match;
  const lower = word?.toLowerCase() ?? '';
  const number =
    digits !== undefined ? Number(digits.replaceAll(',', '')) : (TENS[lower] ?? COUNTS.indexOf(lower));
  const end = match.index + whole.length;
  if (!Number.isFinite(number)) return undefined;
  const next = /^[ -]?(?:degrees? )?(\p{L}[\p{L}°]*)/u.exec(text.slice(end, end + 40))?.[1];
  // "42a" is a code; "5km" is a number and its unit.
  if (next !== undefined && /^\p{L}/u.test(text.charAt(end)) && next.length > 3) return undefined;
  const unit = next === undefined || isPreposition(next) || isFiller(stem(next)) ? undefined : stem(next);
  const currency = SIGNS[sign ?? after ?? ''] ?? (unit === undefined ? undefined : CURRENCIES[unit]);
  const start = match.index + (whole.length - whole.trimStart().length);
  // "One" alone is rarely a number: "the first one", "one of them".
  if (lower === 'one' && (unit === undefined || unit === 'of')) return undefined;
  return {
    kind: 'number',
    text: digits ?? String(number),
    start,
    end,
    number,
    ...(unit === undefined ? {} : { unit }),
    ...(currency === undefined ? {} : { currency }),
  };
}

/** The code of a currency that a word names. */
export function currencyOf(word: string): string | undefined {
  return SIGNS[word] ?? CURRENCIES[stem(word)];
}
