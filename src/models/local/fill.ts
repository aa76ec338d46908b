import { MAX_LOCAL_CALLS } from '../../core/limits.ts';
import { isWritten } from './affinity.ts';
import { type Assignment, assign, type Conflict } from './assign.ts';
import { build, missingIn, type SlotValue } from './build.ts';
import type { Clause } from './clauses.ts';
import { fits } from './coerce.ts';
import { type Fact, valuesFor } from './facts.ts';
import { bareSlot, type Form, type Slot } from './forms.ts';
import { remainder } from './free-text.ts';
import { fixedIn, type KnownTool, slotsIn } from './known-tool.ts';
import { mend } from './mend.ts';
import { mentionsIn } from './read-clause.ts';
import { rolesOf } from './roles.ts';
import { isPointer, stem } from './words.ts';

/** Arguments that the engine would call valid. */
export interface Arguments {
  readonly json: string;
  readonly value: unknown;
  /** Top-level members that came out of earlier results, and not out of the text. */
  readonly fromFacts: ReadonlySet<string>;
}

export type Filling =
  /** One set of arguments for each call. */
  | { readonly kind: 'filled'; readonly calls: readonly Arguments[]; readonly score: number }
  | {
      readonly kind: 'missing';
      readonly slots: readonly Slot[];
      readonly conflicts: readonly Conflict[];
      /** What the clause mentions and no slot took. */
      readonly spare: readonly string[];
      readonly score: number;
    };

/** What a clause may draw on beside its own words. */
export interface Sources {
  readonly today: string | undefined;
  readonly facts: readonly Fact[];
  /** What "it" is: the text of the result before. */
  readonly pointedAt: string | undefined;
}

/** Arguments for a tool out of a clause, or what is missing for them. Nothing is ever made up. */
export function fill(tool: KnownTool, clause: Clause, sources: Sources): Filling {
  const mentions = mentionsIn(clause, tool);
  let best: Filling | undefined;
  for (const form of tool.forms) {
    const filling = fillForm(form, tool, clause, mentions, sources);
    if (best === undefined || isBetter(filling, best)) best = filling;
  }
  return best ?? { kind: 'missing', slots: [], conflicts: [], spare: [], score: 0 };
}

function isBetter(one: Filling, other: Filling): boolean {
  if (one.kind !== other.kind) return one.kind === 'filled';
  if (one.kind === 'missing' && other.kind === 'missing' && one.slots.length !== other.slots.length) {
    return one.slots.length < other.slots.length;
  }
  return one.score > other.score;
}

function fillForm(
  form: Form,
  tool: KnownTool,
  clause: Clause,
  mentions: ReturnType<typeof mentionsIn>,
  sources: Sources,
): Filling {
  const slots = slotsIn(form);
  const assignment = assign(slots, mentions, clause, { plain: tool.plain, today: sources.today });
  const values = new Map(assignment.values);
  const fromFacts = new Set<Slot>();
  write(slots, values, tool, clause, assignment, sources);
  const told: SlotValue = (slot) => {
    const found = values.get(slot);
    return found === undefined ? undefined : { values: found };
  };
  for (const slot of missingIn(form, told)) {
    const known = valuesFor(slot, tool, clause, sources.facts, tool.plain);
    if (known.length === 1 || (known.length > 1 && (slot.listed || wantsEach(clause)))) {
      values.set(slot, known);
      fromFacts.add(slot);
    } else if (slot.defaultValue !== undefined && fits(slot, slot.defaultValue.value, tool.plain)) {
      values.set(slot, [slot.defaultValue.value]);
    } else if (slot.types?.size === 1 && slot.types.has('boolean')) {
      // What nobody asks for is off.
      values.set(slot, [false]);
    }
  }
  const missing = missingIn(form, told);
  const { conflicts, taken } = assignment;
  const score = assignment.score + taggedScore(form, mentions);
  const spare = mentions.filter((mention) => !taken.includes(mention)).map(({ text }) => text);
  // A value that was meant and is not allowed is no reason to call with another one.
  if (missing.length > 0 || conflicts.length > 0)
    return { kind: 'missing', slots: missing, conflicts, spare, score };
  const factKeys = new Set([...fromFacts].flatMap(({ path }) => path.slice(0, 1)));
  const evidence = (path: readonly string[]): unknown => valueAt(path, tool, clause, sources);
  const calls = spread(values)
    .slice(0, MAX_LOCAL_CALLS)
    .flatMap((one) => argumentsOf(form, one, tool, factKeys, evidence));
  return calls.length === 0
    ? { kind: 'missing', slots: [], conflicts, spare, score }
    : { kind: 'filled', calls, score };
}

/** A form whose tag the clause names is the one that it means. */
function taggedScore(form: Form, mentions: ReturnType<typeof mentionsIn>): number {
  const named = fixedIn(form).filter((value) =>
    mentions.some(({ kind, text }) => kind === 'choice' && text === value),
  );
  return named.length * 10;
}

/** What a clause says for one place of the arguments, also one that the schema does not show; undefined for nothing. */
export function valueAt(path: readonly string[], tool: KnownTool, clause: Clause, sources: Sources): unknown {
  const declared = tool.slots.find((slot) => slot.path.join('\n') === path.join('\n'));
  const slot: Slot = declared === undefined ? bareSlot(path) : { ...declared, required: true };
  const reading = { plain: tool.plain, today: sources.today };
  const assignment = assign([slot], mentionsIn(clause, tool), clause, reading);
  const said = assignment.values.get(slot) ?? valuesFor(slot, tool, clause, sources.facts, tool.plain);
  if (said.length > 0) return said.length === 1 ? said[0] : undefined;
  return isWritten(rolesOf(slot)) ? remainder(clause, tool, []) : undefined;
}

/** Puts what is left of the clause, or what it points at, where free text is wanted. */
function write(
  slots: readonly Slot[],
  values: Map<Slot, readonly unknown[]>,
  tool: KnownTool,
  clause: Clause,
  { taken }: Assignment,
  { pointedAt }: Sources,
): void {
  const open = slots.filter((slot) => slot.required && !values.has(slot) && takesText(slot));
  const slot = open.find((each) => isWritten(rolesOf(each))) ?? open.find((each) => rolesOf(each).size === 0);
  if (slot === undefined) return;
  const roles = rolesOf(slot);
  const points = clause.tokens.some((token) => token.kind === 'word' && isPointer(token.text));
  const rest = remainder(clause, tool, taken);
  const whole = roles.has('content') && open.length === 1 && values.size === 0 ? clause.text : undefined;
  const asked = slot.words.some((word) => ADDRESSED.has(word)) && (tool.deed ?? 'read') === 'read';
  const own = asked ? [whole, rest] : [rest, whole];
  const texts = points && roles.has('content') && pointedAt !== undefined ? [pointedAt] : own;
  const text = texts.find((each) => each !== undefined && fits(slot, each, tool.plain));
  if (text !== undefined && !(points && rest === undefined && pointedAt === undefined))
    values.set(slot, [text]);
}

/** What is handed to somebody who reads it, such as another agent, is handed over whole. */
const ADDRESSED = new Set(['message', 'question', 'prompt', 'request', 'instruction', 'input'].map(stem));

function takesText({ types, choices, format }: Slot): boolean {
  return choices === undefined && format === '' && (types === undefined || types.has('string'));
}

/** Whether a clause is about every one of several things. */
export function wantsEach({ tokens }: Clause): boolean {
  return tokens.some(
    (token) => token.kind === 'word' && /^(?:each|every|all|them|both|these|those)$/i.test(token.text),
  );
}

/** One set of values for each call: a list where one value is wanted means a call for each of its members. */
function spread(values: ReadonlyMap<Slot, readonly unknown[]>): ReadonlyMap<Slot, readonly unknown[]>[] {
  const lists = [...values].filter(([slot, list]) => !slot.listed && list.length > 1);
  const [first] = lists;
  if (first === undefined) return [values];
  const [slot, list] = first;
  // Lists of the same length belong together, pair by pair.
  const together = lists.filter(([, other]) => other.length === list.length);
  return list.map((value, index) => {
    const one = new Map(values).set(slot, [value]);
    for (const [other, others] of together) one.set(other, [others[index]]);
    return one;
  });
}

function argumentsOf(
  form: Form,
  values: ReadonlyMap<Slot, readonly unknown[]>,
  tool: KnownTool,
  fromFacts: ReadonlySet<string>,
  evidence: (path: readonly string[]) => unknown,
): Arguments[] {
  const built = build(form, (slot) => {
    const found = values.get(slot);
    return found === undefined ? undefined : { values: found };
  });
  if (built === undefined) return [];
  const json = JSON.stringify(built.value) ?? '';
  if (tool.accepts(json)) return [{ json, value: built.value, fromFacts }];
  // What no single place can tell, such as a member that another one demands.
  const mended = mend(built.value, tool.explain(built.value), evidence);
  const again = JSON.stringify(mended) ?? '';
  return tool.accepts(again) ? [{ json: again, value: mended, fromFacts }] : [];
}
