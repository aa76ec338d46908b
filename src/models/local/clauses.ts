import { MAX_LOCAL_CLAUSES, MAX_LOCAL_TEXT_CHARS } from '../../core/limits.ts';
import { areSynonyms, deedOf } from './synonyms.ts';
import { isConjunction, type Token, tokensOf } from './tokens.ts';
import { isPreposition } from './words.ts';

/** One thing that is asked for. */
export interface Clause {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** It has no verb of its own, and goes on with that of the clause before: "and 10 euros to Bob". */
  readonly elliptic: boolean;
}

/** Cuts a request into what is asked for, in order. `verbs` are the stems that some tool's name begins with. */
export function clausesOf(text: string, verbs: ReadonlySet<string>): Clause[] {
  const bounded = text.slice(0, MAX_LOCAL_TEXT_CHARS).toWellFormed();
  const tokens = tokensOf(bounded);
  const clauses: Clause[] = [];
  let start = 0;
  const close = (end: number, elliptic: boolean): void => {
    const first = tokens[start];
    const last = tokens[end - 1];
    if (first === undefined || last === undefined || end <= start) return;
    const piece = bounded.slice(first.start, last.end);
    const shifted = tokens.slice(start, end).map((token) => moved(token, -first.start));
    if (shifted.some(({ kind }) => kind !== 'mark') && clauses.length < MAX_LOCAL_CLAUSES) {
      clauses.push({ text: piece, tokens: shifted, elliptic });
    }
  };
  let elliptic = false;
  for (let at = 0; at < tokens.length; at += 1) {
    const cut = cutAt(tokens, start, at, verbs);
    if (cut === undefined) continue;
    close(at, elliptic);
    elliptic = cut.elliptic;
    start = at + cut.length;
    at = start - 1;
  }
  close(tokens.length, elliptic);
  return clauses;
}

interface Cut {
  /** Tokens between the two clauses. */
  readonly length: number;
  readonly elliptic: boolean;
}

function cutAt(
  tokens: readonly Token[],
  start: number,
  at: number,
  verbs: ReadonlySet<string>,
): Cut | undefined {
  const token = tokens[at];
  if (token === undefined || at === start) return undefined;
  if (token.kind === 'mark' && /[.;!?\n]/.test(token.text)) return { length: 1, elliptic: false };
  const then = token.kind === 'word' && /^(?:then|afterwards)$/i.test(token.text);
  if (then) return { length: 1, elliptic: false };
  if (!isConjunction(token)) return undefined;
  let next = at + 1;
  for (let following = tokens[next]; following !== undefined; following = tokens[next]) {
    const skipped = isConjunction(following) || (following.kind === 'word' && LINKS.test(following.text));
    if (!skipped) break;
    next += 1;
  }
  const opener = tokens[next];
  if (opener?.kind === 'word' && opensClause(opener, tokens[next + 1], verbs)) {
    return { length: next - at, elliptic: false };
  }
  return repeatsPattern(tokens.slice(start, at), tokens.slice(next))
    ? { length: next - at, elliptic: true }
    : undefined;
}

const LINKS = /^(?:then|also|please|afterwards|finally|next|after|that)$/i;
const QUESTIONS = /^(?:what|who|when|where|which|how|is|are|does|do|can|could)$/i;

function opensClause(
  word: Extract<Token, { kind: 'word' }>,
  next: Token | undefined,
  verbs: ReadonlySet<string>,
): boolean {
  if (QUESTIONS.test(word.text)) return true;
  // A verb is followed by what it is done to; a noun of a list, by a mark, a preposition or nothing.
  const followed = next !== undefined && next.kind !== 'mark' && !isConjunction(next);
  if (!followed || (next.kind === 'word' && isPreposition(next.text) && next.text !== 'for')) return false;
  if (word.text !== word.text.toLowerCase()) return false;
  return deedOf(word.stem) !== undefined || [...verbs].some((verb) => areSynonyms(verb, word.stem));
}

/** "5 euros to Ann and 10 euros to Bob": the same kinds of values in the same order, at least two of them. */
function repeatsPattern(before: readonly Token[], after: readonly Token[]): boolean {
  const left = shapeOf(before);
  const end = after.findIndex(
    (token) => isConjunction(token) || (token.kind === 'mark' && token.text !== ':'),
  );
  const right = shapeOf(end === -1 ? after : after.slice(0, end));
  // Where the last one says what all are for ("to the cart"), the ones before it do not.
  while (right.length > left.length && right.at(-1)?.endsWith(' word')) right.pop();
  if (right.length < 2 || right.length > left.length) return false;
  if (!right.some((kind) => kind !== 'word' && !kind.startsWith('to '))) return false;
  return right.every((kind, index) => left[left.length - right.length + index] === kind);
}

/** Values by their kinds, and words of a list of them by the preposition that leads them. */
function shapeOf(tokens: readonly Token[]): string[] {
  const shape: string[] = [];
  let preposition = '';
  for (const token of tokens) {
    if (token.kind === 'value') {
      shape.push(token.value.kind, ...(token.value.unit === undefined ? [] : ['unit']));
    } else if (token.kind === 'word' && isPreposition(token.text)) preposition = token.text.toLowerCase();
    else if (token.kind === 'word' && preposition !== '') {
      shape.push(`${preposition} word`);
      preposition = '';
    }
  }
  return shape;
}

function moved(token: Token, by: number): Token {
  const start = token.start + by;
  const end = token.end + by;
  if (token.kind !== 'value') return { ...token, start, end };
  return { ...token, value: { ...token.value, start, end }, start, end };
}
