import type { ErrorObject } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { SchemaViolation } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_CHECK_STEPS, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH } from '../core/limits.ts';
import { type Budget, within } from './budget.ts';
import { withCosts } from './costs.ts';
import { diagnose } from './diagnose.ts';
import { dialectOf } from './dialect.ts';
import { readJson } from './json-text.ts';
import { isJsonObject, ownValue } from './json-value.ts';
import { keywords } from './keywords.ts';
import { checkMetaSchema } from './meta-schema.ts';
import { matchesPattern, type Pattern } from './pattern.ts';
import { type Plain, plainSchema, type SchemaFault } from './plain.ts';
import { findLoop } from './shape.ts';
import { shortened, violation } from './violation.ts';

export type Check = 'matches' | 'differs' | 'spent';

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
  const loop = findLoop(plain);
  if (loop !== undefined) return { kind: 'faulty', fault: loop };
  return compilePlain(plain);
}

function compilePlain(plain: Plain): Compilation {
  const budget: Budget = { left: 0 };
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    meta: false,
    validateSchema: false,
    addUsedSchema: false,
    messages: false,
    // Keys are data: what an object inherits is no property of it (1.6).
    ownProperties: true,
    inlineRefs: false,
    code: { regExp: linearRegExp(plain.patterns, budget) },
  });
  for (const keyword of keywords(budget)) {
    ajv.removeKeyword(String(keyword.keyword));
    ajv.addKeyword(keyword);
  }
  const validate = ajv.compile(withCosts(plain.schema));
  return {
    kind: 'compiled',
    validator: {
      plain,
      check: (value) => within(budget, MAX_CHECK_STEPS, () => (validate(value) ? 'matches' : 'differs')),
      explain(value) {
        const found = diagnose(plain, value);
        return found.length > 0 ? found : [lastError(validate.errors)];
      },
    },
  };
}

/** What the validator itself stopped at: less helpful, and always there. */
function lastError(errors: readonly ErrorObject[] | null | undefined): SchemaViolation {
  const error = errors?.at(-1);
  const keyword = error?.keyword ?? '';
  return violation(
    shortened(error?.instancePath ?? '', 1_000),
    keyword,
    `must satisfy "${keyword}" of its schema`,
  );
}

/** What ajv calls for `pattern` and `patternProperties`. */
function linearRegExp(patterns: ReadonlyMap<string, Pattern>, budget: Budget) {
  const engine = (source: string) => {
    const pattern = patterns.get(source);
    if (pattern === undefined) throw new Error('a plain schema holds a pattern that was not compiled');
    // Ajv keeps one program for each text that `toString` gives.
    return { test: (text: string) => matchesPattern(pattern, text, budget), toString: () => source };
  };
  // Where ajv writes the code to a file, it would name the engine so; here it calls the engine itself.
  return Object.assign(engine, { code: 'linearRegExp' });
}

function faulty(pointer: string, keyword: string, problem: string): Compilation {
  return { kind: 'faulty', fault: { pointer, keyword, problem } };
}
