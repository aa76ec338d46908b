/** Words of English text and of identifiers, reduced to what they have in common. */

export interface Word {
  readonly text: string;
  /** What `stem` makes of it. */
  readonly stem: string;
  /** Offsets in the text, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
}

export function wordsOf(text: string): Word[] {
  return [...text.matchAll(/[\p{L}\p{N}]+(?:[’'][\p{L}]+)?/gu)].map((match) => ({
    text: match[0],
    stem: stem(match[0]),
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/** The stems of an identifier's words: fromAccount, from_account and from-account have the same two. */
export function nameStems(name: string): string[] {
  return wordsOf(spaced(name)).map((word) => word.stem);
}

/** An identifier as words that a person would write. */
export function spaced(name: string): string {
  return name
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/[_\-./\s]+/g, ' ')
    .trim();
}

const IRREGULAR: Readonly<Record<string, string>> = {
  children: 'child',
  done: 'done',
  is: 'be',
  are: 'be',
  was: 'be',
  sent: 'send',
  found: 'find',
  wrote: 'writ',
  written: 'writ',
  made: 'mak',
  men: 'man',
  people: 'person',
  bought: 'buy',
  paid: 'pay',
  dir: 'directory',
  dirs: 'directory',
  info: 'information',
  mail: 'email',
  'e-mail': 'email',
  'e-mails': 'email',
  mails: 'email',
  todos: 'todo',
  qty: 'quantity',
  msg: 'message',
  desc: 'description',
  lookup: 'find',
};

/**
 * Cuts endings, so that read, reads and reading are one word. It is rough on purpose: both sides of every
 * comparison go through it, and nothing else ever sees a stem.
 */
export function stem(word: string): string {
  const lower = word
    .toLowerCase()
    .replace(/[’']s?$/, '')
    .replace(/[’']\p{L}+$/u, '');
  const known = Object.hasOwn(IRREGULAR, lower) ? IRREGULAR[lower] : undefined;
  if (known !== undefined) return known;
  if (!/^[a-z]+$/.test(lower) || lower.length < 4) return lower;
  let cut = lower;
  if (/ies$/.test(cut) && cut.length > 4) cut = `${cut.slice(0, -3)}y`;
  else if (/(?:ss|x|z|ch|sh)es$/.test(cut)) cut = cut.slice(0, -2);
  else if (/[^siu]s$/.test(cut)) cut = cut.slice(0, -1);
  if (/(?:ation|ition)s?$/.test(cut) && cut.length > 7) cut = cut.slice(0, -3).replace(/(?:at|it)$/, '');
  else if (/ing$/.test(cut) && cut.length > 5) cut = undoubled(cut.slice(0, -3));
  else if (/ed$/.test(cut) && cut.length > 4) cut = undoubled(cut.slice(0, -2));
  else if (/ly$/.test(cut) && cut.length > 5) cut = cut.slice(0, -2);
  return cut.length > 3 ? cut.replace(/e$/, '') : cut;
}

function undoubled(text: string): string {
  return /([bdgmnprt])\1$/.test(text) ? text.slice(0, -1) : text;
}

/** Words that say nothing about what is wanted. */
const FILLERS = new Set(
  (
    'a an the this that these those my your our his her their its it i me we us you he him she they them ' +
    'please kindly just also too can could would will shall should may might must do does did be am been being ' +
    'have has had there here what which who whom whose when where why how not no so very really now then ' +
    'some any each every all both want need like let know tell if or and but than as well ok okay hi hello hey ' +
    'degree degrees thanks thank many much long more there go get give show'
  )
    .split(' ')
    .map(stem),
);

export function isFiller(wordStem: string): boolean {
  return FILLERS.has(wordStem);
}

const PREPOSITIONS = new Set(
  (
    'in at on to from for of by with about into onto under over between until till since after before during ' +
    'named called titled saying says say via near regarding as is using per through within containing labelled ' +
    'entitled due against inside'
  ).split(' '),
);

/** A word that says how what follows belongs to the rest. */
export function isPreposition(word: string): boolean {
  return PREPOSITIONS.has(word.toLowerCase());
}

/** Words that point at something said or found before. */
const POINTERS = new Set(
  'it its them their that this those these him his her he she they result content contents output answer'.split(
    ' ',
  ),
);

export function isPointer(word: string): boolean {
  return POINTERS.has(word.toLowerCase());
}
