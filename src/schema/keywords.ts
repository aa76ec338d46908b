import { _, type CodeKeywordDefinition } from 'ajv';
import type { RegExpEngine, RegExpLike } from 'ajv/dist/types/index.js';
import {
  equals,
  hasKeys,
  hasUniqueItems,
  isAtLeastLong,
  isAtMostLong,
  isMultipleOf,
  keyCount,
  oneOfValues,
} from './assertions.ts';
import { BUDGET_SPENT, type Budget } from './budget.ts';
import { COST, KEY_COST } from './costs.ts';
import { keepsFormat } from './formats.ts';
import { isJsonObject } from './json-value.ts';
import { matchesPattern, type Pattern } from './pattern.ts';

type Test = (data: never) => boolean;
/** Ajv calls a keyword with a type for data of that type alone. */
type TypeName = 'string' | 'number' | 'array' | 'object';

/** The keywords that take the place of ajv's own, and those that charge the budget. */
export function keywords(budget: Budget, patterns: ReadonlyMap<string, Pattern>): CodeKeywordDefinition[] {
  // All tests of a schema are one value for ajv, which takes time with the square of how many it is given.
  const tests: Test[] = [];

  function tested<Schema>(
    keyword: string,
    type: TypeName | undefined,
    make: (schema: Schema) => Test,
  ): CodeKeywordDefinition {
    return {
      keyword,
      ...(type === undefined ? {} : { type }),
      // On an object without keys, ajv skips what comes after `propertyNames`.
      ...(type === 'object' ? { before: 'propertyNames' } : {}),
      code(context) {
        const all = context.gen.scopeValue('obj', { ref: tests });
        const index = tests.push(make(context.schema)) - 1;
        context.fail(_`!${all}[${index}](${context.data})`);
      },
    };
  }

  return [
    tested('const', undefined, (expected: unknown) => (value: unknown) => equals(expected, value, budget)),
    tested('enum', undefined, (values: readonly unknown[]) => oneOfValues(values, budget)),
    tested('uniqueItems', 'array', (unique: boolean) => {
      return (items: readonly unknown[]) => !unique || hasUniqueItems(items, budget);
    }),
    tested('multipleOf', 'number', (divisor: number) => (value: number) => isMultipleOf(divisor, value)),
    tested('maxLength', 'string', (limit: number) => (text: string) => isAtMostLong(limit, text, budget)),
    tested('minLength', 'string', (limit: number) => (text: string) => isAtLeastLong(limit, text, budget)),
    tested('required', 'object', (names: readonly string[]) => (value: object) => hasKeys(value, names)),
    tested('dependentRequired', 'object', (names: Readonly<Record<string, readonly string[]>>) => {
      const entries = Object.entries(names);
      return (value: object) =>
        entries.every(([name, others]) => !Object.hasOwn(value, name) || hasKeys(value, others));
    }),
    tested('maxProperties', 'object', (limit: number) => (value: object) => keyCount(value, budget) <= limit),
    tested('minProperties', 'object', (limit: number) => (value: object) => keyCount(value, budget) >= limit),
    tested('format', undefined, (name: string) => (value: unknown) => keepsFormat(name, value, budget)),
    tested('pattern', 'string', (source: string) => {
      const pattern = patternOf(patterns, source);
      return (text: string) => matchesPattern(pattern, text, budget);
    }),
    cost(budget),
    keyCost(budget),
  ];
}

/** What ajv calls for the patterns of `patternProperties`. */
export function linearRegExp(patterns: ReadonlyMap<string, Pattern>, budget: Budget): RegExpEngine {
  const engine = (source: string): RegExpLike => {
    const pattern = patternOf(patterns, source);
    const program = { test: (text: string) => matchesPattern(pattern, text, budget) };
    // Ajv keeps one program for each text that `toString` gives.
    return Object.assign(program, { toString: () => source });
  };
  // Where ajv writes the code to a file, it would name the engine so; here it calls the engine itself.
  return Object.assign(engine, { code: 'linearRegExp' });
}

function patternOf(patterns: ReadonlyMap<string, Pattern>, source: string): Pattern {
  const pattern = patterns.get(source);
  if (pattern === undefined) throw new Error('a plain schema holds a pattern that was not compiled');
  return pattern;
}

/** Spent before anything else of the schema, a followed reference above all. */
function cost(budget: Budget): CodeKeywordDefinition {
  return {
    keyword: COST,
    before: '$ref',
    schemaType: 'number',
    code({ gen, schema }) {
      const purse = gen.scopeValue('obj', { ref: budget });
      const spent = gen.scopeValue('obj', { ref: BUDGET_SPENT });
      gen.code(_`if ((${purse}.left -= ${Number(schema)}) < 0) throw ${spent}`);
    },
  };
}

function keyCost(budget: Budget): CodeKeywordDefinition {
  const spendKeys = (walks: number, value: unknown): void => {
    if (isJsonObject(value)) keyCount(value, budget, walks);
  };
  return {
    keyword: KEY_COST,
    before: '$ref',
    schemaType: 'number',
    code({ gen, schema, data }) {
      gen.code(_`${gen.scopeValue('func', { ref: spendKeys })}(${Number(schema)}, ${data})`);
    },
  };
}
