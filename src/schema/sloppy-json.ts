/**
 * One reading of text that is nearly JSON (1.7): the sloppiness of JSON5 in commas, quotes and comments,
 * text after one complete object, and containers that truncation left open. It edits as little as it can:
 * number spellings, key order and white space stay. It judges no details: what it makes is read again by
 * the strict reader, so numbers, escapes and literals may pass here and fail there.
 */

export type Sloppiness = 'trailing_text' | 'commas' | 'quotes' | 'comments' | 'closed';

export interface SloppyReading {
  readonly json: string;
  readonly used: ReadonlySet<Sloppiness>;
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

interface Cursor {
  readonly text: string;
  readonly maxDepth: number;
  offset: number;
  /** They never overlap, but are not in order: a comma turns out to be one too many after a comment. */
  readonly edits: Edit[];
  readonly used: Set<Sloppiness>;
  /** Closers that the end of the text owes, innermost last. */
  readonly open: ('}' | ']')[];
}

/** Undefined where the text is no object even so. */
export function readSloppyObject(text: string, maxDepth: number): SloppyReading | undefined {
  const cursor: Cursor = { text, maxDepth, offset: 0, edits: [], used: new Set(), open: [] };
  if (!skipSpace(cursor) || text[cursor.offset] !== '{' || !readContainer(cursor)) return undefined;
  if (cursor.open.length > 0) {
    cursor.used.add('closed');
    return { json: edited(cursor, text.length) + cursor.open.reverse().join(''), used: cursor.used };
  }
  const end = cursor.offset;
  const usedInside = new Set(cursor.used);
  if (skipSpace(cursor) && cursor.offset === text.length) {
    return { json: edited(cursor, end), used: cursor.used };
  }
  if (holdsSecondValue(text.slice(cursor.offset))) return undefined;
  return { json: edited(cursor, end), used: usedInside.add('trailing_text') };
}

/** The text up to `end` with the edits made, without white space around it. */
function edited({ text, edits }: Cursor, end: number): string {
  let json = '';
  let copied = 0;
  for (const { from, to, by } of edits.toSorted((left, right) => left.from - right.from)) {
    if (from >= end) break;
    json += text.slice(copied, from) + by;
    copied = to;
  }
  return (json + text.slice(copied, end)).trim();
}

/**
 * Text after the object is prose unless it starts with a value, past surplus closers and commas, or holds
 * a container anywhere: that could be a second call's arguments, and dropping it would lose a decision.
 */
function holdsSecondValue(rest: string): boolean {
  if (/[{[]/.test(rest)) return true;
  const start = rest.replace(/^[\s}\],;]+/, '');
  return /^(?:"|-?\d|(?:true|false|null)\b)/.test(start);
}

/** Reads an object or an array. False where it is neither sloppy nor strict JSON. */
function readContainer(cursor: Cursor): boolean {
  const { text } = cursor;
  const closer = text[cursor.offset] === '{' ? '}' : ']';
  cursor.offset += 1;
  cursor.open.push(closer);
  if (cursor.open.length > cursor.maxDepth) return false;
  let comma = -1;
  for (;;) {
    if (!skipSpace(cursor)) return false;
    const atEnd = cursor.offset === text.length;
    if (atEnd || text[cursor.offset] === closer) {
      if (comma !== -1) {
        cursor.edits.push({ from: comma, to: comma + 1, by: '' });
        cursor.used.add('commas');
      }
      return atEnd || close(cursor);
    }
    if (closer === '}' && !readKey(cursor)) return false;
    if (!readValue(cursor)) return false;
    // A container inside that the text's end left open leaves this one open too.
    if (cursor.offset === text.length) return true;
    if (!skipSpace(cursor)) return false;
    if (cursor.offset === text.length) return true;
    comma = -1;
    if (text[cursor.offset] === ',') {
      comma = cursor.offset;
      cursor.offset += 1;
    } else if (text[cursor.offset] !== closer) return false;
  }
}

function close(cursor: Cursor): true {
  cursor.open.pop();
  cursor.offset += 1;
  return true;
}

function readKey(cursor: Cursor): boolean {
  const { text } = cursor;
  const quote = text[cursor.offset];
  if (quote === '"' || quote === "'") {
    if (!readString(cursor, quote)) return false;
  } else {
    const identifier = /[\p{L}_$][\p{L}\p{Nd}_$]*/uy;
    identifier.lastIndex = cursor.offset;
    const name = identifier.exec(text)?.[0];
    if (name === undefined) return false;
    const end = cursor.offset + name.length;
    cursor.edits.push({ from: cursor.offset, to: end, by: `"${name}"` });
    cursor.offset = end;
    cursor.used.add('quotes');
  }
  if (!skipSpace(cursor) || text[cursor.offset] !== ':') return false;
  cursor.offset += 1;
  return skipSpace(cursor);
}

function readValue(cursor: Cursor): boolean {
  const { text } = cursor;
  const first = text[cursor.offset];
  if (first === '{' || first === '[') return readContainer(cursor);
  if (first === '"' || first === "'") return readString(cursor, first);
  const word = /[-+.\w]+/y;
  word.lastIndex = cursor.offset;
  const token = word.exec(text)?.[0];
  if (token === undefined) return false;
  cursor.offset += token.length;
  // Digits at the very end may be the start of a longer number, letters that of a longer word (1.8).
  return cursor.offset < text.length || token === 'true' || token === 'false' || token === 'null';
}

function readString(cursor: Cursor, quote: '"' | "'"): boolean {
  const { text, edits } = cursor;
  const start = cursor.offset;
  let offset = start + 1;
  while (text[offset] !== quote) {
    if (offset >= text.length) return false;
    if (text[offset] === '\\') {
      // JSON has no escaped single quote; a backslash in front of one says nothing.
      if (text[offset + 1] === "'") {
        edits.push({ from: offset, to: offset + 1, by: '' });
        cursor.used.add('quotes');
      }
      offset += 2;
    } else {
      if (text[offset] === '"') edits.push({ from: offset, to: offset, by: '\\' });
      offset += 1;
    }
  }
  if (quote === "'") {
    edits.push({ from: start, to: start + 1, by: '"' }, { from: offset, to: offset + 1, by: '"' });
    cursor.used.add('quotes');
  }
  cursor.offset = offset + 1;
  return true;
}

/** Skips white space and comments. False where a block comment has no end. */
function skipSpace(cursor: Cursor): boolean {
  const { text } = cursor;
  for (;;) {
    const code = text.charCodeAt(cursor.offset);
    if (code === 32 || code === 10 || code === 13 || code === 9) {
      cursor.offset += 1;
      continue;
    }
    const start = cursor.offset;
    let end: number;
    if (text.startsWith('//', start)) {
      const lineEnd = text.slice(start).search(/[\n\r\u2028\u2029]/);
      end = lineEnd === -1 ? text.length : start + lineEnd;
    } else if (text.startsWith('/*', start)) {
      end = text.indexOf('*/', start + 2);
      if (end === -1) return false;
      end += 2;
    } else return true;
    cursor.edits.push({ from: start, to: end, by: '' });
    cursor.used.add('comments');
    cursor.offset = end;
  }
}
