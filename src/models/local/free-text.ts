import type { Clause } from './clauses.ts';
import type { KnownTool } from './known-tool.ts';
import type { Mention } from './mention.ts';
import { isTopic } from './read-clause.ts';
import { deedOf } from './synonyms.ts';
import type { Token } from './tokens.ts';
import { isFiller, isPointer, isPreposition } from './words.ts';

/**
 * What is left of a clause when the words that ask for the tool and the values of other slots are taken from its
 * ends: "buy milk" of "add buy milk to my todo list". Undefined where nothing is left.
 */
export function remainder(clause: Clause, tool: KnownTool, taken: readonly Mention[]): string | undefined {
  const { tokens, text } = clause;
  const isTaken = (token: Token): boolean =>
    taken.some(({ start, end }) => token.start < end && token.end > start);
  /** It asks for the tool, or leads to a value of another slot. */
  const isAsking = (token: Token): boolean =>
    isTaken(token) ||
    token.kind === 'mark' ||
    (token.kind === 'word' &&
      (isFiller(token.stem) || isPreposition(token.text) || isTopic(token.stem, tool)));

  let start = 0;
  for (let verb = true; start < tokens.length; start += 1) {
    const token = tokens[start];
    if (token === undefined) break;
    // The first verb is what the tool is asked for with, whichever verb it is.
    const next = tokens[start + 1];
    const leads =
      token.kind === 'word' &&
      ((verb && deedOf(token.stem) !== undefined) ||
        // "The first" of a number that has its own place.
        (ORDINALS.test(token.text) && next !== undefined && isTaken(next)));
    if (!isAsking(token) && !leads) break;
    if (leads) verb = false;
    // "to call mum" after "a task": the rest is what is to be done, word for word.
    if (
      token.kind === 'word' &&
      /^to$/i.test(token.text) &&
      next?.kind === 'word' &&
      !isTaken(next) &&
      !isFiller(next.stem)
    ) {
      start += 1;
      break;
    }
  }
  let end = tokens.length;
  for (;;) {
    const last = tokens[end - 1];
    if (last === undefined || end <= start) return undefined;
    const trailing = last.kind === 'mark' || isTaken(last) || isLeading(last, tokens[end], isTaken);
    if (trailing) {
      end -= 1;
      continue;
    }
    const cut = tokens.findLastIndex(
      (token, index) =>
        index > start &&
        index < end &&
        token.kind === 'word' &&
        isPreposition(token.text) &&
        tokens.slice(index + 1, end).every((each) => isAsking(each)),
    );
    if (cut === -1) break;
    end = cut;
  }
  const first = tokens[start];
  const last = tokens[end - 1];
  if (first === undefined || last === undefined || end <= start) return undefined;
  const words = tokens.slice(start, end).filter((token) => token.kind !== 'mark');
  if (words.every((token) => token.kind === 'word' && (isPointer(token.text) || isFiller(token.stem))))
    return undefined;
  return text.slice(first.start, last.end);
}

const ORDINALS = /^(?:first|top|last|most)$/i;

/** A preposition or a noun that led to a value which has gone. */
function isLeading(token: Token, next: Token | undefined, isTaken: (token: Token) => boolean): boolean {
  if (token.kind !== 'word') return false;
  return isPreposition(token.text) || (isFiller(token.stem) && next !== undefined && isTaken(next));
}
