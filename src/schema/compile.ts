import type { AnySchema, ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { SchemaViolation } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_CHECK_STEPS, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH } from '../core/limits.ts';
import { type Budget, within } from './budget.ts';
import { withCosts } from './costs.ts';
import { type Check, checkByWalk, diagnose } from './diagnose.ts';
import { dialectOf } from './dialect.ts';
import { readJson } from './json-text.ts';
import { isJsonObject, ownValue } from './json-value.ts';
import { keywords, linearRegExp } from './keywords.ts';
import { checkMetaSchema } from './meta-schema.ts';
import { findTooLarge, narrowed } from './narrow.ts';
import { type Plain, plainSchema, type SchemaFault } from './plain.ts';
import { findLoop, usesUnevaluated } from './shape.ts';
import { shortened, violation } from './violation.ts';

/** A compiled schema. It is made of nothing but the text, so equal texts may share one (2.4). */
export interface Validator {
  readonly plain: Plain;
  /** `spent` where the value is too costly to check with this schema (1.5). */
  check(value: unknown): Check;
  /** What is wrong with a value that has just differed: one violation at least, most specific first (1.9). */
  explain(value: unknown): readonly SchemaViolation[];
}

export type Compilation =
  | { readonly kind: 'compiled'; readonly validator: Validator }
  | { readonly kind: 'faulty'; readonly fault: SchemaFault };

const SCHEMA_LIMITS = {
  maxBytes: MAX_SCHEMA_BYTES,
  maxDepth: MAX_SCHEMA_DEPTH,
  maxKeys: MAX_SCHEMA_BYTES,
};

/** Compiles a foreign schema (2.1 to 2.3). Takes milliseconds; nothing foreign makes it throw. */
export function compileSchema(text: string): Compilation {
  const reading = readJson(text, SCHEMA_LIMITS);
  if (reading.kind === 'refused') return faulty('', '', `is not usable as JSON: ${reading.problem}`);
  const document: unknown = JSON.parse(text);
  if (!isJsonObject(document) && typeof document !== 'boolean') {
    return faulty('', '', 'is neither an object nor a boolean, so it is no JSON Schema');
  }
  const dialect = dialectOf(isJsonObject(document) ? ownValue(document, '$schema') : undefined);
  if (dialect === undefined) {
    return faulty('', '$schema', 'names another dialect: write the schema in 2020-12 or draft-07');
  }
  const check = (schema: unknown): SchemaFault | undefined => checkMetaSchema(schema, dialect);
  const fault = check(document);
  if (fault !== undefined) return { kind: 'faulty', fault };
  const plaining = plainSchema(document, dialect, check);
  if (plaining.kind === 'faulty') return plaining;
  const { plain } = plaining;
  const shapeFault = findLoop(plain) ?? findTooLarge(plain);
  if (shapeFault !== undefined) return { kind: 'faulty', fault: shapeFault };
  return usesUnevaluated(plain.schema) ? walked(plain) : compilePlain(plain);
}

/**
 * Ajv's code for `unevaluatedProperties` beside `patternProperties` and `if` throws on some values, so the few
 * schemas that use the keyword are walked instead, which is slower and says the same.
 */
function walked(plain: Plain): Compilation {
  const explain = (value: unknown): readonly SchemaViolation[] =>
    atLeastOne(diagnose(plain, value), undefined);
  return { kind: 'compiled', validator: { plain, check: (value) => checkByWalk(plain, value), explain } };
}

function compilePlain(plain: Plain): Compilation {
  const budget: Budget = { left: 0 };
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    meta: false,
    validateSchema: false,
    // Keys are data: what an object inherits is no property of it (1.6).
    ownProperties: true,
    inlineRefs: false,
    // Optimizing makes compilation several times slower, and checks hardly faster.
    code: { optimize: false, regExp: linearRegExp(plain.patterns, budget) },
  });
  // No plain schema asks for what these two keep account of, which makes code many times larger.
  ajv.opts.unevaluated = false;
  ajv.opts.dynamicRef = false;
  for (const keyword of keywords(budget, plain.patterns)) {
    ajv.removeKeyword(String(keyword.keyword));
    ajv.addKeyword(keyword);
  }
  const validate = compileWithin(ajv, withCosts(narrowed(plain.schema)));
  if (validate === undefined)
    return faulty('', '', 'nests too many alternatives to be compiled: make it simpler');
  return {
    kind: 'compiled',
    validator: {
      plain,
      check: (value) => within(budget, MAX_CHECK_STEPS, () => (validate(value) ? 'matches' : 'differs')),
      explain: (value) => atLeastOne(diagnose(plain, value), validate.errors),
    },
  };
}

/** Undefined where the code that ajv writes nests deeper than the platform can read. */
function compileWithin(ajv: Ajv2020, schema: AnySchema): ValidateFunction | undefined {
  try {
    return ajv.compile(schema);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Where words were too costly to find, what the validator itself stopped at has to do. */
function atLeastOne(
  found: readonly SchemaViolation[],
  errors: readonly ErrorObject[] | null | undefined,
): readonly SchemaViolation[] {
  if (found.length > 0) return found;
  const { instancePath = '', keyword = '', message = 'must match the schema' } = errors?.at(-1) ?? {};
  // Ajv has no words for the keywords that are not its own.
  const words = message.startsWith('must pass') ? `must keep to "${keyword}"` : message;
  return [violation(instancePath, keyword, shortened(words))];
}

function faulty(pointer: string, keyword: string, problem: string): Compilation {
  return { kind: 'faulty', fault: { pointer, keyword, problem } };
}
