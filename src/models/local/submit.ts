import { SUBMIT_RESULT } from '../../core/loop/reserved.ts';
import { isJsonObject } from '../../schema/json-value.ts';
import { isWritten } from './affinity.ts';
import { assign } from './assign.ts';
import { build, missingIn } from './build.ts';
import { clausesOf } from './clauses.ts';
import { fits } from './coerce.ts';
import type { Conversation, MadeCall } from './conversation.ts';
import { type Fact, factsOf, valuesFor } from './facts.ts';
import type { Slot } from './forms.ts';
import { type KnownTool, slotsIn } from './known-tool.ts';
import { mend, violationsIn } from './mend.ts';
import { mentionsIn } from './read-clause.ts';
import { rolesOf } from './roles.ts';

/**
 * The value that ends a task (6.12), out of what the tools answered and what the person said: never made up, so
 * undefined where something required is in neither. `answer` is what the model would say in prose.
 */
export function submission(
  tool: KnownTool,
  conversation: Conversation,
  answer: string,
): { readonly json: string; readonly value: unknown } | undefined {
  const tried = conversation.calls.filter(({ name }) => name === SUBMIT_RESULT);
  const fresh = (value: unknown): { readonly json: string; readonly value: unknown } | undefined => {
    const json = JSON.stringify(value);
    const again = tried.some(({ args }) => JSON.stringify(args) === json);
    return json === undefined || again || !tool.accepts(json) ? undefined : { json, value };
  };
  const last = tried.at(-1);
  if (last?.outcome?.kind === 'error') {
    const violations = violationsIn(last.outcome.message);
    return fresh(mend(last.args, violations, () => undefined));
  }
  const results = conversation.calls.filter(({ name }) => name !== SUBMIT_RESULT);
  const asked = fresh(filled(tool, conversation, results, answer));
  const { lists, objects } = whole(results);
  // A list is what is wanted as it is; of an object, the task may want less than there is.
  const candidates = [...lists.map(fresh), asked, ...objects.map(fresh)];
  return candidates.find((each) => each !== undefined);
}

/** Results that may be what the task wants as they are, newest first. */
function whole(results: readonly MadeCall[]): {
  readonly lists: readonly unknown[];
  readonly objects: readonly unknown[];
} {
  const values = results
    .toReversed()
    .flatMap(({ outcome }) => (outcome?.kind === 'result' ? [outcome.value] : []));
  return {
    lists: values.filter(Array.isArray).map((result) => ({ result })),
    objects: values.filter(isJsonObject).map((result) => ({ result })),
  };
}

function filled(
  tool: KnownTool,
  { goal, today }: Conversation,
  results: readonly MadeCall[],
  answer: string,
): unknown {
  const [clause] = clausesOf(goal.replace(/[.!?;\n]+/g, ','), new Set());
  const facts = [...factsOf(results), ...countsOf(results)];
  for (const form of tool.forms) {
    const slots = slotsIn(form).map((slot) => ({
      ...slot,
      words: slot.path.length === 1 ? ['answer'] : slot.words,
    }));
    const named = new Map(slotsIn(form).map((slot, index) => [slot, slots[index] ?? slot]));
    const said =
      clause === undefined
        ? undefined
        : assign(slots, mentionsIn(clause, tool), clause, { plain: tool.plain, today });
    const told = (slot: Slot): { readonly values: readonly unknown[] } | undefined => {
      const known = named.get(slot) ?? slot;
      const values = clause === undefined ? [] : valuesFor(known, tool, clause, facts, tool.plain);
      if (values.length === 1 || (values.length > 1 && slot.listed)) return { values };
      const only = onlyValue(known, facts, tool);
      if (only !== undefined) return { values: [only] };
      const text = isWritten(rolesOf(known)) || rolesOf(known).size === 0 ? answer : undefined;
      const prose = text !== undefined && slot.required && fits(slot, text, tool.plain) ? [text] : undefined;
      const values_ = said?.values.get(known) ?? prose;
      return values_ === undefined ? undefined : { values: values_ };
    };
    if (missingIn(form, told).length > 0) continue;
    const built = build(form, told);
    if (built !== undefined) return built.value;
  }
  return undefined;
}

/** Where the task wants one value and the tools answered one of its type, that is it. */
function onlyValue(slot: Slot, facts: readonly Fact[], tool: KnownTool): unknown {
  if (slot.path.length !== 1 || slot.types?.has('string')) return undefined;
  const values = new Set(facts.filter(({ key }) => key.join() !== COUNT.join()).map(({ value }) => value));
  const fitting = [...values].filter((value) => fits(slot, value, tool.plain));
  return fitting.length === 1 ? fitting[0] : undefined;
}

const COUNT = ['count'];

/** How many items each list has that a tool answered: people ask for it, and tools seldom say it. */
function countsOf(results: readonly MadeCall[]): Fact[] {
  const counts: Fact[] = [];
  for (const { name, outcome } of results) {
    if (outcome?.kind !== 'result') continue;
    const lists = Array.isArray(outcome.value)
      ? [outcome.value]
      : isJsonObject(outcome.value)
        ? Object.values(outcome.value).filter(Array.isArray)
        : [];
    for (const list of lists) {
      counts.push({ value: list.length, key: COUNT, context: [], tool: name, row: new Set() });
    }
  }
  return counts;
}
