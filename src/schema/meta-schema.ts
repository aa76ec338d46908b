import { Ajv, type ErrorObject } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Dialect, holdsOf } from './dialect.ts';
import type { SchemaFault } from './plain.ts';

type MetaCheck = (schema: unknown) => readonly ErrorObject[];

const checks = new Map<Dialect, MetaCheck>();

/**
 * What the meta-schema of a dialect finds wrong (2.2). The meta-schemas are our own input, not foreign, so
 * the plain validators serve; compiling them takes tens of milliseconds, so they are made once, on first use.
 */
export function checkMetaSchema(schema: unknown, dialect: Dialect): SchemaFault | undefined {
  let check = checks.get(dialect);
  if (check === undefined) {
    check = metaCheck(dialect);
    checks.set(dialect, check);
  }
  // Of the errors of alternatives, the deepest place is where the author has to look.
  const [first, ...others] = check(schema);
  if (first === undefined) return undefined;
  const deepest = others.reduce((best, error) => (depth(error) > depth(best) ? error : best), first);
  return faultOf(deepest, dialect);
}

function metaCheck(dialect: Dialect): MetaCheck {
  const options = { strict: false, logger: false, validateFormats: false } as const;
  const [ajv, uri] =
    dialect === 'draft-07'
      ? [new Ajv(options), 'http://json-schema.org/draft-07/schema']
      : [new Ajv2020(options), 'https://json-schema.org/draft/2020-12/schema'];
  const validate = ajv.getSchema(uri);
  if (validate === undefined) throw new Error(`ajv does not hold the meta-schema ${uri}`);
  return (schema) => (validate(schema) === true ? [] : (validate.errors ?? []));
}

function depth(error: ErrorObject): number {
  return error.instancePath.split('/').length;
}

/** `/properties/a/type/0` is the keyword `type` of the schema at `/properties/a`. */
function faultOf(error: ErrorObject, dialect: Dialect): SchemaFault {
  const steps = error.instancePath.split('/');
  const at = steps.findLastIndex((step) => holdsOf(dialect, step) !== undefined);
  const problem = `${error.message ?? 'is not valid'}; correct it, or name the dialect it is written in by "$schema"`;
  if (at === -1) return { pointer: error.instancePath, keyword: error.keyword, problem };
  return { pointer: steps.slice(0, at).join('/'), keyword: steps[at] ?? error.keyword, problem };
}
