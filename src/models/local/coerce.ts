import { MAX_DIAGNOSIS_STEPS } from '../../core/limits.ts';
import { type Budget, within } from '../../schema/budget.ts';
import { violationsOf } from '../../schema/diagnose.ts';
import type { Plain } from '../../schema/plain.ts';
import { resolveRelative } from './dates.ts';
import type { Slot } from './forms.ts';
import type { Mention } from './mention.ts';
import { currencyOf } from './recognize.ts';
import { rolesOf } from './roles.ts';
import { areSynonyms } from './synonyms.ts';
import { nameStems, stem } from './words.ts';

/** What values are read with: the schema, and what day it is where somebody said so. */
export interface Reading {
  readonly plain: Plain | undefined;
  readonly today: string | undefined;
}

/** Whether a value is allowed at a slot. What the slot's surroundings demand beyond it is checked at the end. */
export function fits(slot: Slot, value: unknown, plain: Plain | undefined): boolean {
  return demandOn(slot, value, plain) === '';
}

/** What a slot demands that a value is not, in the words of a violation (1.9); empty where it fits. */
export function demandOn(slot: Slot, value: unknown, plain: Plain | undefined): string {
  if (plain === undefined) return '';
  const budget: Budget = { left: 0 };
  const diagnosis = { root: plain.schema, patterns: plain.patterns, budget };
  const found = within(budget, MAX_DIAGNOSIS_STEPS, () =>
    slot.schemas.flatMap((schema) => violationsOf(schema, value, '', diagnosis)),
  );
  if (found === 'spent') return 'is too large to check';
  return found[0]?.message ?? '';
}

/** The value that a mention is at a slot, in the form that its schema wants; undefined where it is none. */
export function coerce(slot: Slot, mention: Mention, reading: Reading): unknown {
  return candidates(slot, mention, reading).find((value) => fits(slot, value, reading.plain));
}

function candidates(slot: Slot, mention: Mention, { today }: Reading): readonly unknown[] {
  if (slot.choices !== undefined) return choiceFor(slot.choices, mention.text);
  const admits = (type: string): boolean => slot.types === undefined || slot.types.has(type);
  const values: unknown[] = [];
  if (admits('number') || admits('integer')) values.push(...numbers(slot, mention));
  if (admits('boolean')) values.push(...booleanIn(mention.text));
  if (admits('string')) values.push(...strings(slot, mention, today));
  return values;
}

/** The listed value that a text names: itself, the same words, other words for it, or the start of it. */
export function choiceFor(choices: readonly unknown[], text: string): readonly unknown[] {
  const stems = nameStems(text).join(' ');
  const currency = currencyOf(text);
  const named = choices.filter((choice) => typeof choice === 'string' || typeof choice === 'number');
  const tests: readonly ((choice: string) => boolean)[] = [
    (choice) => choice === text,
    (choice) => nameStems(choice).join(' ') === stems,
    (choice) => currency !== undefined && choice.toUpperCase() === currency,
    (choice) => stems.length > 3 && areSynonyms(stem(choice), stems),
    (choice) => text.length > 2 && choice.toLowerCase().startsWith(text.toLowerCase()),
    (choice) => choice.length > 2 && text.toLowerCase().startsWith(choice.toLowerCase()),
  ];
  for (const test of tests) {
    const found = named.filter((choice) => test(String(choice)));
    if (found.length === 1) return found;
  }
  return [];
}

const SECONDS: Readonly<Record<string, number>> = {
  millisecond: 0.001,
  second: 1,
  minut: 60,
  hour: 3_600,
  day: 86_400,
  week: 604_800,
};

function numbers(slot: Slot, { number, unit, currency, text, kind }: Mention): number[] {
  if (number === undefined) {
    const digits =
      kind === 'quoted' || kind === 'code' ? Number(text.replace(/^#/, '') || Number.NaN) : Number.NaN;
    return Number.isFinite(digits) ? [digits] : [];
  }
  // A slot that names its unit gets the value in it: two hours are 120 minutes, five euros 500 cents.
  if (currency !== undefined && slot.words.includes('cent') && unit !== 'cent')
    return [Math.round(number * 100)];
  const written = unit === undefined ? undefined : SECONDS[unit];
  const wanted = slot.words.map((word) => SECONDS[word]).find((seconds) => seconds !== undefined);
  if (written !== undefined && wanted !== undefined && written !== wanted) {
    return [Number(((number * written) / wanted).toPrecision(12))];
  }
  return [number];
}

function booleanIn(text: string): boolean[] {
  if (/^(?:true|yes|on|enabled?)$/i.test(text)) return [true];
  return /^(?:false|no|off|disabled?)$/i.test(text) ? [false] : [];
}

function strings(slot: Slot, mention: Mention, today: string | undefined): string[] {
  const { kind, text, iso } = mention;
  const day = kind === 'relative' ? resolveRelative(text, today) : iso;
  const formatted: readonly (string | undefined)[] = [
    slot.format === 'date-time' && day !== undefined ? momentOf(day) : undefined,
    slot.format === 'date' ? day?.slice(0, 10) : undefined,
    slot.format === 'time' && kind === 'time' ? `${text}:00Z` : undefined,
    kind === 'relative' && rolesOf(slot).has('date') ? day : undefined,
  ];
  const spellings = [
    text,
    text.toLowerCase(),
    text.toUpperCase(),
    capitalized(text),
    text.replaceAll(' ', '-').toLowerCase(),
  ];
  return [...formatted.filter((each) => each !== undefined), ...spellings];
}

function momentOf(iso: string): string {
  return iso.includes('T') ? iso : `${iso}T00:00:00Z`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
