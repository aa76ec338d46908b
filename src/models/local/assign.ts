import { affinity, isWritten, OPTIONAL_AFFINITY, REQUIRED_AFFINITY } from './affinity.ts';
import type { Clause } from './clauses.ts';
import { coerce, demandOn, type Reading } from './coerce.ts';
import type { Slot } from './forms.ts';
import type { Mention } from './mention.ts';
import { rolesOf } from './roles.ts';
import { isFiller, stem } from './words.ts';

export interface Assignment {
  /** One value for each slot; several where the text lists them: one call each, or the items of a list. */
  readonly values: ReadonlyMap<Slot, readonly unknown[]>;
  /** What was used up. */
  readonly taken: readonly Mention[];
  /** Values that the text clearly means for a slot which does not allow them. */
  readonly conflicts: readonly Conflict[];
  /** The certainty of all of it together. */
  readonly score: number;
}

export interface Conflict {
  readonly slot: Slot;
  readonly text: string;
  /** What the slot demands instead: "must be at most 7". */
  readonly demand: string;
}

interface Pair {
  readonly slot: Slot;
  readonly at: number;
  readonly score: number;
}

/** Gives each slot the mentions that suit it best; the best pairs first, and each mention once. */
export function assign(
  slots: readonly Slot[],
  mentions: readonly Mention[],
  clause: Clause,
  reading: Reading,
): Assignment {
  const values = new Map<Slot, readonly unknown[]>();
  const used = new Set<number>();
  const conflicts: Conflict[] = [];
  const scores = new Map<Slot, number>();
  const isChained = (at: number): boolean =>
    (mentions[at + 1]?.joined ?? false) || (mentions[at]?.joined ?? false);

  const pairs: Pair[] = [];
  for (const slot of slots) {
    for (const [at, mention] of mentions.entries()) {
      const score = affinity(slot, mention, isChained(at));
      if (score < (slot.required ? REQUIRED_AFFINITY : OPTIONAL_AFFINITY)) continue;
      if (coerce(slot, mention, reading) !== undefined)
        pairs.push({ slot, at, score: score + (slot.required ? 0.5 : 0) });
      else if (isMeant(slot, mention, score)) {
        conflicts.push({ slot, text: mention.text, demand: demandOn(slot, mention.number, reading.plain) });
      }
    }
  }
  // Equal pairs stand in the order of the slots, then of the text.
  for (const { slot, at, score } of pairs.toSorted((left, right) => right.score - left.score)) {
    const mention = mentions[at];
    if (mention === undefined || used.has(at) || values.has(slot)) continue;
    const chain = chainFrom(slot, at, mentions, used, reading);
    values.set(
      slot,
      isOneText(slot, chain.indexes, mentions) ? [textOf(chain.indexes, mentions, clause)] : chain.values,
    );
    scores.set(slot, score);
    for (const index of chain.indexes) used.add(index);
    // "days" of "3 days" has said which slot the number is for, and is no value of its own.
    if (mention.unit !== undefined && slot.words.includes(mention.unit)) used.add(at + 1);
  }
  for (const slot of slots) {
    const said =
      values.has(slot) || slot.types?.size !== 1 || !slot.types.has('boolean')
        ? undefined
        : flag(slot, clause);
    if (said === undefined) continue;
    values.set(slot, [said]);
    scores.set(slot, 3);
  }
  return {
    values,
    taken: mentions.filter((_, index) => used.has(index)),
    conflicts: conflicts.filter(({ slot }) => !values.has(slot)),
    score: [...scores.values()].reduce((sum, each) => sum + Math.min(each, 10), 0),
  };
}

/** A number that is called by the slot's name is meant for it, whether the slot allows it or not. */
function isMeant(slot: Slot, mention: Mention, score: number): boolean {
  return score >= 6 && mention.kind === 'number' && slot.choices === undefined && !isWritten(rolesOf(slot));
}

/** The values of a list: "Oslo and Lima", from any of its members on. */
function chainFrom(
  slot: Slot,
  at: number,
  mentions: readonly Mention[],
  used: ReadonlySet<number>,
  reading: Reading,
): { readonly values: readonly unknown[]; readonly indexes: readonly number[] } {
  let first = at;
  while (first > 0 && mentions[first]?.joined && !used.has(first - 1)) first -= 1;
  const chain: { value: unknown; index: number }[] = [];
  for (let index = first; index < mentions.length; index += 1) {
    const mention = mentions[index];
    if (mention === undefined || used.has(index) || (index > first && !mention.joined)) break;
    if (familyOf(mention) !== familyOf(mentions[at])) {
      if (index > at) break;
      chain.length = 0;
      continue;
    }
    const value = coerce(slot, mention, reading);
    if (value === undefined || (affinity(slot, mention, true) <= 0 && index !== at)) {
      if (index >= at) break;
      chain.length = 0;
      continue;
    }
    chain.push({ value, index });
  }
  return { values: chain.map(({ value }) => value), indexes: chain.map(({ index }) => index) };
}

/** Members of a list are of one kind; whether a name has capitals is not known for sure. */
function familyOf(mention: Mention | undefined): string {
  return mention?.kind === 'phrase' || mention?.kind === 'unit' ? 'name' : (mention?.kind ?? '');
}

/** What is searched for or written is one text, also where it lists things: "cats and dogs". */
function isOneText(slot: Slot, indexes: readonly number[], mentions: readonly Mention[]): boolean {
  const roles = rolesOf(slot);
  if (slot.listed || indexes.length < 2 || !(roles.has('topic') || roles.has('content'))) return false;
  return indexes.every((index) => ['phrase', 'name'].includes(mentions[index]?.kind ?? ''));
}

function textOf(indexes: readonly number[], mentions: readonly Mention[], clause: Clause): string {
  const first = mentions[indexes[0] ?? 0];
  const last = mentions[indexes.at(-1) ?? 0];
  return clause.text.slice(first?.start, last?.end);
}

const NEGATIONS = /^(?:not|no|without|never|don't|don’t|skip|exclude|excluding|ignore|off)$/i;

/** Whether the clause names a switch: on, or off with a negation right before it. Undefined where it does not. */
function flag(slot: Slot, { tokens }: Clause): boolean | undefined {
  const named = slot.words.filter((word) => !isFiller(word) && !SWITCHES.has(word));
  if (named.length === 0) return undefined;
  const words = tokens.filter((token) => token.kind === 'word');
  const at = words.findIndex((word) => named.some((name) => sameRoot(name, word.stem)));
  if (at === -1) return undefined;
  const all = named.every((name) => words.some((word) => sameRoot(name, word.stem)));
  if (!all) return undefined;
  return !words.slice(Math.max(0, at - 2), at).some((word) => NEGATIONS.test(word.text));
}

const SWITCHES = new Set(['include', 'enable', 'use', 'with', 'is', 'has', 'be', 'only'].map(stem));

function sameRoot(left: string, right: string): boolean {
  if (left === right) return true;
  return left.length > 4 && right.length > 4 && left.slice(0, 5) === right.slice(0, 5);
}
