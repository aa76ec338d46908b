import { _, type CodeKeywordDefinition } from 'ajv';
import {
  equals,
  hasUniqueItems,
  isAtLeastLong,
  isAtMostLong,
  isMultipleOf,
  keyCount,
  oneOfValues,
} from './assertions.ts';
import { BUDGET_SPENT, type Budget, spend } from './budget.ts';
import { COST, KEY_COST } from './costs.ts';
import { keepsFormat } from './formats.ts';

/** Ajv's type lets a keyword judge any data; ajv itself calls these for data of their `type` alone. */
type Test = (data: never) => boolean;
type TypeName = 'string' | 'number' | 'array' | 'object';

/** The keywords that take the place of ajv's own, and those that charge the budget. */
export function keywords(budget: Budget): CodeKeywordDefinition[] {
  return [
    tested('const', undefined, (expected: unknown) => (value: unknown) => equals(expected, value, budget)),
    tested('enum', undefined, (values: readonly unknown[]) => oneOfValues(values, budget)),
    tested('uniqueItems', 'array', (unique: boolean) => {
      return (items: readonly unknown[]) => !unique || hasUniqueItems(items, budget);
    }),
    tested('multipleOf', 'number', (divisor: number) => (value: number) => isMultipleOf(divisor, value)),
    tested('maxLength', 'string', (limit: number) => (text: string) => isAtMostLong(limit, text, budget)),
    tested('minLength', 'string', (limit: number) => (text: string) => isAtLeastLong(limit, text, budget)),
    tested(
      'maxProperties',
      'object',
      (limit: number) => (value: unknown) => keyCount(value, budget) <= limit,
    ),
    tested(
      'minProperties',
      'object',
      (limit: number) => (value: unknown) => keyCount(value, budget) >= limit,
    ),
    tested('format', undefined, (name: string) => (value: unknown) => keepsFormat(name, value, budget)),
    tested(KEY_COST, 'object', (walks: number) => (value: object) => {
      spend(budget, walks * Object.keys(value).length);
      return true;
    }),
    cost(budget),
  ];
}

function tested<Schema>(
  keyword: string,
  type: TypeName | undefined,
  make: (schema: Schema) => Test,
): CodeKeywordDefinition {
  return {
    keyword,
    ...(type === undefined ? {} : { type }),
    code(context) {
      const test = context.gen.scopeValue('func', { ref: make(context.schema) });
      context.fail(_`!${test}(${context.data})`);
    },
  };
}

function cost(budget: Budget): CodeKeywordDefinition {
  return {
    keyword: COST,
    // It has to be spent before a reference is followed.
    before: '$ref',
    schemaType: 'number',
    code({ gen, schema }) {
      const purse = gen.scopeValue('obj', { ref: budget });
      const spent = gen.scopeValue('obj', { ref: BUDGET_SPENT });
      gen.code(_`if ((${purse}.left -= ${Number(schema)}) < 0) throw ${spent}`);
    },
  };
}
