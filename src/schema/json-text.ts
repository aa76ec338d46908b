/**
 * Strict reading of JSON text (RFC 8259, 1.2 to 1.6). `JSON.parse` alone is not enough: it takes the last
 * of two equal keys in silence, accepts escaped lone surrogates, and knows no bounds. This scanner accepts
 * a subset of what `JSON.parse` accepts, in one pass and without building a value.
 */

export interface JsonLimits {
  /** Of the text in UTF-8. */
  readonly maxBytes: number;
  /** Nested arrays and objects. */
  readonly maxDepth: number;
  /** Keys of all objects together. */
  readonly maxKeys: number;
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

export type JsonReading =
  | { readonly kind: 'json'; readonly root: JsonKind }
  /** `problem` says what is wrong and where, and quotes nothing of the text (9.4). */
  | { readonly kind: 'refused'; readonly problem: string };

/** Up to this many keys of one object are compared one by one, which is faster than a set. */
const SET_THRESHOLD = 12;

const LITERALS: Readonly<Record<string, JsonKind>> = { true: 'boolean', false: 'boolean', null: 'null' };

interface Cursor {
  readonly text: string;
  readonly limits: JsonLimits;
  offset: number;
  depth: number;
  keys: number;
  problem: string;
  problemOffset: number;
}

/** Reads one JSON value and nothing after it but white space. */
export function readJson(text: string, limits: JsonLimits): JsonReading {
  // UTF-8 takes at least one and at most three bytes for a UTF-16 code unit, so most texts need no counting.
  if (text.length * 3 > limits.maxBytes && Buffer.byteLength(text) > limits.maxBytes) {
    return { kind: 'refused', problem: `the text is longer than ${limits.maxBytes} bytes` };
  }
  if (!text.isWellFormed()) return { kind: 'refused', problem: 'the text holds a lone surrogate' };
  const cursor: Cursor = { text, limits, offset: 0, depth: 0, keys: 0, problem: '', problemOffset: 0 };
  skipSpace(cursor);
  const root = readValue(cursor);
  if (root !== undefined) {
    skipSpace(cursor);
    if (cursor.offset === text.length) return { kind: 'json', root };
    fail(cursor, 'expected nothing after the value');
  }
  return { kind: 'refused', problem: `${cursor.problem}, ${positionOf(text, cursor.problemOffset)}` };
}

/** Says where an offset is, in words for a person or a model. Columns count UTF-16 code units. */
export function positionOf(text: string, offset: number): string {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
    lineStart = at + 1;
  }
  return `at line ${line}, column ${offset - lineStart + 1}`;
}

function fail(cursor: Cursor, problem: string, offset = cursor.offset): undefined {
  cursor.problem = offset >= cursor.text.length ? `${problem}, but the text ends` : problem;
  cursor.problemOffset = offset;
  return undefined;
}

function skipSpace(cursor: Cursor): void {
  const { text } = cursor;
  let { offset } = cursor;
  for (let code = text.charCodeAt(offset); code === 32 || code === 10 || code === 13 || code === 9; ) {
    offset += 1;
    code = text.charCodeAt(offset);
  }
  cursor.offset = offset;
}

function readValue(cursor: Cursor): JsonKind | undefined {
  const code = cursor.text.charCodeAt(cursor.offset);
  switch (code) {
    case 0x7b /* { */:
      return readObject(cursor);
    case 0x5b /* [ */:
      return readArray(cursor);
    case 0x22 /* " */:
      return readString(cursor) === undefined ? undefined : 'string';
    default:
      return code === 0x2d || isDigit(code) ? readNumber(cursor) : readLiteral(cursor);
  }
}

function readObject(cursor: Cursor): 'object' | undefined {
  const { text, limits } = cursor;
  if (!enter(cursor)) return undefined;
  skipSpace(cursor);
  if (text.charCodeAt(cursor.offset) === 0x7d /* } */) return leave(cursor, 'object');
  const small: string[] = [];
  let large: Set<string> | undefined;
  for (;;) {
    const start = cursor.offset;
    if (text.charCodeAt(start) !== 0x22) return fail(cursor, 'expected a key in double quotes');
    const escaped = readString(cursor);
    if (escaped === undefined) return undefined;
    cursor.keys += 1;
    if (cursor.keys > limits.maxKeys) return fail(cursor, `more than ${limits.maxKeys} keys`, start);
    const key = escaped
      ? String(JSON.parse(text.slice(start, cursor.offset)))
      : text.slice(start + 1, cursor.offset - 1);
    if (large === undefined ? small.includes(key) : large.has(key)) {
      return fail(cursor, 'a key of the same object is repeated', start);
    }
    if (large !== undefined) large.add(key);
    else if (small.push(key) > SET_THRESHOLD) large = new Set(small);
    skipSpace(cursor);
    if (text.charCodeAt(cursor.offset) !== 0x3a /* : */) return fail(cursor, 'expected ":" after a key');
    cursor.offset += 1;
    skipSpace(cursor);
    if (readValue(cursor) === undefined) return undefined;
    skipSpace(cursor);
    const code = text.charCodeAt(cursor.offset);
    if (code === 0x7d) return leave(cursor, 'object');
    if (code !== 0x2c /* , */) return fail(cursor, 'expected "," or "}" after a member');
    cursor.offset += 1;
    skipSpace(cursor);
  }
}

function readArray(cursor: Cursor): 'array' | undefined {
  const { text } = cursor;
  if (!enter(cursor)) return undefined;
  skipSpace(cursor);
  if (text.charCodeAt(cursor.offset) === 0x5d /* ] */) return leave(cursor, 'array');
  for (;;) {
    if (readValue(cursor) === undefined) return undefined;
    skipSpace(cursor);
    const code = text.charCodeAt(cursor.offset);
    if (code === 0x5d) return leave(cursor, 'array');
    if (code !== 0x2c) return fail(cursor, 'expected "," or "]" after an item');
    cursor.offset += 1;
    skipSpace(cursor);
  }
}

function enter(cursor: Cursor): boolean {
  cursor.depth += 1;
  if (cursor.depth > cursor.limits.maxDepth) {
    fail(cursor, `nested deeper than ${cursor.limits.maxDepth} levels`);
    return false;
  }
  cursor.offset += 1;
  return true;
}

function leave<Kind extends JsonKind>(cursor: Cursor, kind: Kind): Kind {
  cursor.depth -= 1;
  cursor.offset += 1;
  return kind;
}

/** Whether the string holds an escape; undefined where it is no string. */
function readString(cursor: Cursor): boolean | undefined {
  const { text } = cursor;
  let escaped = false;
  let offset = cursor.offset + 1;
  for (;;) {
    const code = text.charCodeAt(offset);
    if (code === 0x22) {
      cursor.offset = offset + 1;
      return escaped;
    }
    if (code === 0x5c /* \ */) {
      const length = escapeLength(cursor, offset);
      if (length === undefined) return undefined;
      escaped = true;
      offset += length;
    } else if (code >= 0x20) {
      offset += 1;
    } else {
      // NaN, past the end, fails both comparisons above.
      return offset < text.length
        ? fail(cursor, 'a control character in a string has to be escaped', offset)
        : fail(cursor, 'expected the end of a string', offset);
    }
  }
}

/** The length of one escape; a surrogate pair counts as one, and a lone surrogate is refused (1.5). */
function escapeLength(cursor: Cursor, offset: number): number | undefined {
  const { text } = cursor;
  const letter = text.charAt(offset + 1);
  if (letter !== 'u') {
    if (letter !== '' && '"\\/bfnrt'.includes(letter)) return 2;
    return fail(cursor, letter === '' ? 'expected an escape' : 'an unknown escape in a string', offset + 1);
  }
  const unit = hexUnit(text, offset + 2);
  if (unit === undefined) return fail(cursor, 'expected four hexadecimal digits after "\\u"', offset + 2);
  if (unit < 0xd800 || unit > 0xdfff) return 6;
  const low = text.startsWith('\\u', offset + 6) ? hexUnit(text, offset + 8) : undefined;
  if (unit <= 0xdbff && low !== undefined && low >= 0xdc00 && low <= 0xdfff) return 12;
  return fail(cursor, 'an escaped lone surrogate in a string', offset);
}

function hexUnit(text: string, offset: number): number | undefined {
  const digits = text.slice(offset, offset + 4);
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function readNumber(cursor: Cursor): 'number' | undefined {
  const { text } = cursor;
  if (text.charCodeAt(cursor.offset) === 0x2d /* - */) cursor.offset += 1;
  if (text.charCodeAt(cursor.offset) === 0x30 /* 0 */) {
    cursor.offset += 1;
    if (isDigit(text.charCodeAt(cursor.offset))) return fail(cursor, 'a number has a leading zero');
  } else if (!readDigits(cursor)) return undefined;
  if (text.charCodeAt(cursor.offset) === 0x2e /* . */) {
    cursor.offset += 1;
    if (!readDigits(cursor)) return undefined;
  }
  const exponent = text.charCodeAt(cursor.offset);
  if (exponent === 0x65 || exponent === 0x45 /* e E */) {
    cursor.offset += 1;
    const sign = text.charCodeAt(cursor.offset);
    if (sign === 0x2b || sign === 0x2d) cursor.offset += 1;
    if (!readDigits(cursor)) return undefined;
  }
  return 'number';
}

function readDigits(cursor: Cursor): boolean {
  const start = cursor.offset;
  while (isDigit(cursor.text.charCodeAt(cursor.offset))) cursor.offset += 1;
  if (cursor.offset === start) fail(cursor, 'expected a digit');
  return cursor.offset > start;
}

function readLiteral(cursor: Cursor): JsonKind | undefined {
  for (const [literal, kind] of Object.entries(LITERALS)) {
    if (cursor.text.startsWith(literal, cursor.offset)) {
      cursor.offset += literal.length;
      return kind;
    }
  }
  return fail(cursor, 'expected a JSON value');
}
