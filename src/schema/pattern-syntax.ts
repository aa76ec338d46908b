/**
 * Writes a regular expression of ECMAScript in the syntax of RE2. The two share most of it, and differ in
 * what `.` and `\s` match, in escapes, and in what a bracket means in a class.
 */

export type LinearSyntax =
  | { readonly kind: 'linear'; readonly syntax: string }
  | { readonly kind: 'unsupported'; readonly reason: string };

const SPACE =
  '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}';
/** What `\S` adds to a class: the gaps between the spaces above. */
const NOT_SPACE =
  '\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}';
const NOT_NEWLINE = '[^\\n\\r\\x{2028}\\x{2029}]';

const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };
const LONG_CATEGORIES: Readonly<Record<string, string>> = {
  Letter: 'L',
  Uppercase_Letter: 'Lu',
  Lowercase_Letter: 'Ll',
  Titlecase_Letter: 'Lt',
  Modifier_Letter: 'Lm',
  Other_Letter: 'Lo',
  Mark: 'M',
  Number: 'N',
  Decimal_Number: 'Nd',
  digit: 'Nd',
  Letter_Number: 'Nl',
  Other_Number: 'No',
  Punctuation: 'P',
  punct: 'P',
  Symbol: 'S',
  Math_Symbol: 'Sm',
  Currency_Symbol: 'Sc',
  Separator: 'Z',
  Space_Separator: 'Zs',
  Other: 'C',
  Control: 'Cc',
  cntrl: 'Cc',
};

interface Cursor {
  readonly source: string;
  readonly unicode: boolean;
  offset: number;
  /** Why RE2 cannot express it; reading goes no further. */
  unsupported?: string;
}

/** `source` is a valid expression of ECMAScript, in Unicode mode or in the older one. */
export function linearSyntax(source: string, unicode: boolean): LinearSyntax {
  const cursor: Cursor = { source, unicode, offset: 0 };
  let syntax = '';
  while (cursor.offset < source.length && cursor.unsupported === undefined) syntax += readTerm(cursor);
  if (cursor.unsupported !== undefined) return { kind: 'unsupported', reason: cursor.unsupported };
  return { kind: 'linear', syntax };
}

function unsupported(cursor: Cursor, reason: string): '' {
  cursor.unsupported = reason;
  cursor.offset = cursor.source.length;
  return '';
}

function readTerm(cursor: Cursor): string {
  const { source } = cursor;
  const char = source.charAt(cursor.offset);
  if (char === '\\') return readEscape(cursor, false);
  if (char === '[') return readClass(cursor);
  if (char === '(') return readGroup(cursor);
  cursor.offset += 1;
  if (char === '.') return NOT_NEWLINE;
  // The older mode takes a brace that starts no quantifier, and a lone bracket, for itself.
  if (char === '{' && !/^\{\d+(?:,\d*)?\}/.test(source.slice(cursor.offset - 1, cursor.offset + 24)))
    return '\\{';
  return char === ']' ? '\\]' : char;
}

function readGroup(cursor: Cursor): string {
  const { source } = cursor;
  const opening = /\((?:\?(?:<?[=!]|[a-z-]*:|<[^>]+>))?/y;
  opening.lastIndex = cursor.offset;
  const found = opening.exec(source)?.[0] ?? '(';
  if (/^\(\?<?[=!]/.test(found)) return unsupported(cursor, 'it looks ahead or behind');
  cursor.offset += found.length;
  // Nothing reads the groups, so none needs a name or a number.
  return found === '(' || found.startsWith('(?<') ? '(?:' : found;
}

function readClass(cursor: Cursor): string {
  const { source } = cursor;
  cursor.offset += 1;
  const negated = source.charAt(cursor.offset) === '^';
  if (negated) cursor.offset += 1;
  let members = '';
  // A hyphen beside a set such as \w cannot span a range; the older mode takes it for itself.
  let afterSet = false;
  while (cursor.offset < source.length && source.charAt(cursor.offset) !== ']') {
    const start = cursor.offset;
    const char = source.charAt(start);
    if (char === '\\') {
      members += readEscape(cursor, true);
    } else {
      const rune = String.fromCodePoint(source.codePointAt(start) ?? 0);
      cursor.offset += rune.length;
      const literal = '[]^&~'.includes(rune) || (rune === '-' && (afterSet || isSet(source, start + 1)));
      members += literal ? `\\${rune}` : rune;
    }
    afterSet = isSet(source, start);
  }
  cursor.offset += 1;
  // An empty class matches nothing, and its negation anything.
  if (members === '') return negated ? '[\\x00-\\x{10ffff}]' : '[^\\x00-\\x{10ffff}]';
  return `[${negated ? '^' : ''}${members}]`;
}

function isSet(source: string, offset: number): boolean {
  return source.charAt(offset) === '\\' && 'dDwWsSpP'.includes(source.charAt(offset + 1) || ' ');
}

function readEscape(cursor: Cursor, inClass: boolean): string {
  const { source, unicode } = cursor;
  const letter = source.charAt(cursor.offset + 1);
  const rest = source.slice(cursor.offset + 2, cursor.offset + 64);
  const take = (syntax: string, length = 0): string => {
    cursor.offset += 2 + length;
    return syntax;
  };
  if ('dDwW'.includes(letter) || (!inClass && 'bB'.includes(letter))) return take(`\\${letter}`);
  if (letter === 's' || letter === 'S') {
    const members = letter === 's' ? SPACE : NOT_SPACE;
    return take(inClass ? members : `[${members}]`);
  }
  if (letter === 'b') return take(hexEscape(8));
  const control = CONTROLS[letter];
  if (control !== undefined) return take(hexEscape(control));
  const hex =
    (letter === 'x' && /^[0-9a-fA-F]{2}/.exec(rest)) || (letter === 'u' && /^[0-9a-fA-F]{4}/.exec(rest));
  if (hex) return readUnit(cursor, Number.parseInt(hex[0], 16), hex[0].length);
  const braced = letter === 'u' && unicode ? /^\{([0-9a-fA-F]+)\}/.exec(rest) : null;
  if (braced?.[1] !== undefined) return take(hexEscape(Number.parseInt(braced[1], 16)), braced[0].length);
  if (letter === 'c' && /^[A-Za-z]/.test(rest)) return take(hexEscape(rest.charCodeAt(0) % 32), 1);
  if ((letter === 'p' || letter === 'P') && unicode) return readProperty(cursor, letter, rest);
  if (letter === 'k' && (unicode || source.includes('(?<'))) {
    return unsupported(cursor, 'it refers back to a group');
  }
  if (letter === '0' && !/^\d/.test(rest)) return take(hexEscape(0));
  if (/\d/.test(letter)) return unsupported(cursor, 'it refers back to a group, or holds an octal escape');
  const point = source.codePointAt(cursor.offset + 1) ?? 0;
  return take(hexEscape(point), point > 0xffff ? 1 : 0);
}

function readUnit(cursor: Cursor, unit: number, digits: number): string {
  cursor.offset += 2 + digits;
  const low = /^\\u([dD][c-fC-F][0-9a-fA-F]{2})/.exec(cursor.source.slice(cursor.offset, cursor.offset + 6));
  if (unit >= 0xd800 && unit <= 0xdbff && low?.[1] !== undefined) {
    cursor.offset += low[0].length;
    return hexEscape((unit - 0xd800) * 0x400 + (Number.parseInt(low[1], 16) - 0xdc00) + 0x10000);
  }
  if (unit >= 0xd800 && unit <= 0xdfff) return unsupported(cursor, 'it names half of a surrogate pair');
  return hexEscape(unit);
}

function readProperty(cursor: Cursor, letter: string, rest: string): string {
  const found = /^\{(?:(General_Category|gc|Script|sc|Script_Extensions|scx)=)?(\w+)\}/.exec(rest);
  const name = found?.[2];
  if (found === null || name === undefined)
    return unsupported(cursor, 'it names an unknown Unicode property');
  cursor.offset += 2 + found[0].length;
  if (found[1]?.startsWith('Script_E') || found[1] === 'scx') {
    return unsupported(cursor, 'it names a Unicode property that the linear engine lacks');
  }
  return `\\${letter}{${LONG_CATEGORIES[name] ?? name}}`;
}

function hexEscape(point: number): string {
  return `\\x{${point.toString(16)}}`;
}
