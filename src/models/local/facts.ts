import { MAX_LOCAL_FACTS } from '../../core/limits.ts';
import { isJsonObject } from '../../schema/json-value.ts';
import type { Clause } from './clauses.ts';
import { fits } from './coerce.ts';
import type { MadeCall } from './conversation.ts';
import type { Slot } from './forms.ts';
import type { KnownTool } from './known-tool.ts';
import { rolesOf } from './roles.ts';
import { areSynonyms } from './synonyms.ts';
import { isFiller, nameStems, wordsOf } from './words.ts';

/** One value that a tool answered. */
export interface Fact {
  readonly value: string | number | boolean;
  /** The stems of its name, and of the names and the tool that it is under. */
  readonly key: readonly string[];
  readonly context: readonly string[];
  readonly tool: string;
  /** The words of the object that it is a member of, to tell rows apart. */
  readonly row: ReadonlySet<string>;
}

/** The values in what calls answered, in order. */
export function factsOf(calls: readonly MadeCall[]): Fact[] {
  const facts: Fact[] = [];
  for (const { name, outcome } of calls) {
    if (outcome?.kind !== 'result') continue;
    const visit = (
      value: unknown,
      key: readonly string[],
      context: readonly string[],
      row: ReadonlySet<string>,
    ): void => {
      if (facts.length >= MAX_LOCAL_FACTS) return;
      if (Array.isArray(value)) for (const item of value) visit(item, key, context, row);
      else if (isJsonObject(value)) {
        const scalars = Object.values(value).filter(
          (member) => typeof member === 'string' || typeof member === 'number',
        );
        const words = new Set(scalars.flatMap((member) => wordsOf(String(member)).map(({ stem }) => stem)));
        for (const [member, inner] of Object.entries(value)) {
          visit(
            inner,
            nameStems(member),
            [...context, ...key],
            isScalar(inner) ? words : new Set([...row, ...words]),
          );
        }
      } else if (isScalar(value)) facts.push({ value, key, context, tool: name, row });
    };
    visit(outcome.value, [], nameStems(name), new Set());
  }
  return facts;
}

/** The values that calls were made with. */
export function factsOfArguments(calls: readonly MadeCall[]): Fact[] {
  const made = calls.map(({ args }) => ({
    name: '',
    args,
    outcome: { kind: 'result' as const, text: '', value: args },
  }));
  return factsOf(made);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/**
 * What facts say for a slot: several values where they do not agree, so that nobody has to guess. A tool's own
 * results do not fill its arguments.
 */
export function valuesFor(
  slot: Slot,
  tool: KnownTool,
  clause: Clause,
  facts: readonly Fact[],
  plain: Parameters<typeof fits>[2],
): readonly unknown[] {
  const scored = facts
    .filter((fact) => fact.tool !== tool.name)
    .map((fact) => ({ fact, score: likeness(slot, tool, fact) }))
    .filter(({ score }) => score > 0);
  const best = Math.max(0, ...scored.map(({ score }) => score));
  const matching = scored.filter(({ score }) => score === best).map(({ fact }) => fact);
  const usable = matching.flatMap((fact) => {
    const value = [fact.value, String(fact.value)].find((each) => fits(slot, each, plain));
    return value === undefined ? [] : [{ value, fact }];
  });
  const asked = new Set(
    clause.tokens.flatMap((token) =>
      token.kind === 'word' && !isFiller(token.stem)
        ? [token.stem]
        : token.kind === 'value'
          ? wordsOf(token.value.text).map(({ stem }) => stem)
          : [],
    ),
  );
  const values = (list: typeof usable): unknown[] => [...new Set(list.map(({ value }) => value))];
  if (values(usable).length < 2) return values(usable);
  // Rows that share the most words with the clause are the ones that it is about.
  const overlap = (fact: Fact): number => [...fact.row].filter((word) => asked.has(word)).length;
  const most = Math.max(...usable.map(({ fact }) => overlap(fact)));
  return values(most === 0 ? usable : usable.filter(({ fact }) => overlap(fact) === most));
}

function likeness(slot: Slot, tool: KnownTool, { key, context, value }: Fact): number {
  const roles = rolesOf(slot);
  const words = new Set(slot.words);
  const qualified = [...words].every(
    (word) => key.includes(word) || context.some((each) => each === word || areSynonyms(each, word)),
  );
  if (key.length > 0 && key.length === words.size && key.every((word) => words.has(word))) return 5;
  if (qualified && key.some((word) => words.has(word))) return 4;
  if (key.some((word) => words.has(word)) && slot.words.length === 1) return 3;
  if (roles.has('email') || roles.has('person') || roles.has('target')) {
    if (typeof value === 'string' && /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(value)) return 3;
  }
  if (roles.has('id') && key.includes('id') && tool.nameStems.some((word) => context.includes(word)))
    return 2.5;
  if (roles.has('id') && key.includes('id')) return 2;
  if (roles.has('path') && typeof value === 'string' && /^[^\s]*[./][^\s]*$/.test(value)) return 2;
  if (key.length > 0 && slot.words.some((word) => key.some((each) => areSynonyms(each, word)))) return 1;
  return 0;
}
