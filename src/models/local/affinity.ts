import type { Slot } from './forms.ts';
import type { Mention, MentionKind } from './mention.ts';
import { CUES, type Role, rolesOf, SUITS } from './roles.ts';
import { areSynonyms } from './synonyms.ts';
import { stem } from './words.ts';

/** Below this, a value is not taken for an optional slot: leaving it out is always right. */
export const OPTIONAL_AFFINITY = 5;
/** Below this, it is not taken for a required one either. */
export const REQUIRED_AFFINITY = 1;

/** How likely a mention is meant for a slot that could hold it; the higher, the likelier. */
export function affinity(slot: Slot, mention: Mention, chained: boolean): number {
  const roles = rolesOf(slot);
  const kind = kindScore(slot, roles, mention, chained);
  return kind <= 0 ? 0 : kind + wordScore(slot, roles, mention);
}

function kindScore(
  slot: Slot,
  roles: ReadonlySet<Role>,
  { kind, number, cue, label }: Mention,
  chained: boolean,
): number {
  if (slot.choices !== undefined) return CHOSEN[kind] ?? 4;
  const numeric = slot.types !== undefined && !slot.types.has('string') && slot.types.size > 0;
  if (numeric && number !== undefined) return 3;
  if (slot.format !== '' && FORMATTED.has(kind)) return 8;
  if (kind === 'choice') return 0;
  const best = Math.max(0, ...[...roles].map((role) => SUITS[role][kind] ?? 0));
  if (best > 0) return best;
  // A slot that wants an address, a path or a day takes nothing else.
  if (roles.has('email') && !roles.has('target') && !roles.has('person')) return 0;
  if (roles.has('date') && !roles.has('source') && !roles.has('target')) return 0;
  if (isWritten(roles)) {
    // Free text is what is left of the clause in the end, unless a word leads to it, or it is one of a list.
    if (kind === 'unit') return roles.has('item') ? 2 : 0;
    const led = CUES[cue]?.some((role) => roles.has(role) && WRITTEN.has(role)) ?? false;
    if (led && (!slot.required || NAMING.has(cue))) return 3;
    return chained && roles.has('item') ? 2 : 0;
  }
  // A name that says what is wanted takes something else only where something has to be taken.
  const isOpen = roles.size === 0 || slot.required || slot.words.includes(label);
  return isOpen ? (UNSPECIFIC[kind] ?? 0) : 0;
}

/** The unit of a number is what a list of units is for, before anything else. */
const CHOSEN: Partial<Record<MentionKind, number>> = { choice: 8, unit: 12 };

const NAMING = new Set(['called', 'named', 'titled', 'entitled']);
const WRITTEN = new Set<Role>(['content', 'topic', 'item']);

/** A person words it freely: a title, a question, a note. */
export function isWritten(roles: ReadonlySet<Role>): boolean {
  return [...WRITTEN].some((role) => roles.has(role));
}

const FORMATTED = new Set<MentionKind>(['email', 'url', 'uuid', 'date', 'time', 'moment', 'relative']);

/** A string whose name says nothing takes what is named, before what is counted. */
const UNSPECIFIC: Partial<Record<MentionKind, number>> = {
  quoted: 4,
  name: 3,
  code: 3,
  phrase: 2,
  path: 2,
  url: 2,
  uuid: 2,
  email: 2,
  number: 1,
  tail: 1,
};

function wordScore(
  slot: Slot,
  roles: ReadonlySet<Role>,
  { label, unit, currency, cue, kind }: Mention,
): number {
  let score = 0;
  if (label !== '') {
    if (slot.words.includes(label)) score += 6;
    else if (slot.context.includes(label)) score += 4;
    else if (slot.words.some((word) => areSynonyms(word, label))) score += 3;
    else if (slot.descriptionStems.has(label)) score += 1.5;
  }
  if (kind === 'number') {
    if (slot.words.some((word) => COUNTS.has(word)) && cue === '' && label === '') score += 2.5;
    else if (slot.words.some((word) => LIMITS.has(word)) && unit !== undefined && !TIME_UNITS.has(unit))
      score += 2.5;
    if (unit !== undefined && slot.words.includes(unit)) score += 6;
    else if (unit !== undefined && slot.words.some((word) => TIME_UNITS.has(word)) && TIME_UNITS.has(unit))
      score += 5;
    else if (unit !== undefined && slot.descriptionStems.has(unit)) score += 2;
    if (currency !== undefined && roles.has('amount')) score += 4;
  }
  if (cue !== '') {
    if (slot.words.includes(stem(cue))) score += 6;
    else if (CUES[cue]?.some((role) => roles.has(role))) score += 3;
    else if (contradicts(cue, slot)) score -= 4;
  }
  return score;
}

/** A bare number before a noun says how many there are. */
const COUNTS = new Set(['quantity', 'count', 'amount', 'number'].map(stem));
/** A number of things is how many of them are wanted. */
const LIMITS = new Set(['limit', 'max', 'count', 'n', 'top', 'result', 'number'].map(stem));
const TIME_UNITS = new Set(['millisecond', 'second', 'minut', 'hour', 'day', 'week'].map(stem));

/** "to Lima" is not where something comes from. */
function contradicts(cue: string, { words }: Slot): boolean {
  if (cue === 'from' || cue === 'since') return words.includes('to') || words.includes('end');
  return (cue === 'to' || cue === 'until') && (words.includes('from') || words.includes('start'));
}
