import type { SchemaViolation } from '../../gen/spindle/v1/tool_pb.ts';
import { equals, isAtLeastLong, isAtMostLong, isMultipleOf, oneOfValues } from './assertions.ts';
import type { Diagnosis } from './diagnose.ts';
import { keepsFormat } from './formats.ts';
import { matchesPattern } from './pattern.ts';
import type { PlainObject } from './plain-schema.ts';
import { choices, shortened, violation } from './violation.ts';

/** What is wrong with a value by the keywords for strings, for numbers, and for values of any type. */
export function diagnoseScalar(
  schema: PlainObject,
  value: unknown,
  path: string,
  { budget, patterns }: Diagnosis,
): SchemaViolation[] {
  const found: SchemaViolation[] = [];
  const demand = (holds: boolean, keyword: string, message: string): void => {
    if (!holds) found.push(violation(path, keyword, message));
  };
  if ('const' in schema)
    demand(equals(schema.const, value, budget), 'const', `must be ${choices([schema.const])}`);
  if (schema.enum !== undefined) {
    demand(oneOfValues(schema.enum, budget)(value), 'enum', `must be one of ${choices(schema.enum)}`);
  }
  if (schema.format !== undefined) {
    demand(keepsFormat(schema.format, value, budget), 'format', `must be in the format "${schema.format}"`);
  }
  if (typeof value === 'string') {
    const { minLength, maxLength, pattern } = schema;
    if (maxLength !== undefined) {
      demand(
        isAtMostLong(maxLength, value, budget),
        'maxLength',
        `must have at most ${maxLength} characters`,
      );
    }
    if (minLength !== undefined) {
      demand(
        isAtLeastLong(minLength, value, budget),
        'minLength',
        `must have at least ${minLength} characters`,
      );
    }
    const program = pattern === undefined ? undefined : patterns.get(pattern);
    if (program !== undefined) {
      demand(
        matchesPattern(program, value, budget),
        'pattern',
        `must match the pattern ${shortened(program.source)}`,
      );
    }
  }
  if (typeof value === 'number') {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
    if (minimum !== undefined) demand(value >= minimum, 'minimum', `must be at least ${minimum}`);
    if (maximum !== undefined) demand(value <= maximum, 'maximum', `must be at most ${maximum}`);
    if (exclusiveMinimum !== undefined) {
      demand(value > exclusiveMinimum, 'exclusiveMinimum', `must be more than ${exclusiveMinimum}`);
    }
    if (exclusiveMaximum !== undefined) {
      demand(value < exclusiveMaximum, 'exclusiveMaximum', `must be less than ${exclusiveMaximum}`);
    }
    if (multipleOf !== undefined) {
      demand(isMultipleOf(multipleOf, value), 'multipleOf', `must be a multiple of ${multipleOf}`);
    }
  }
  return found;
}
