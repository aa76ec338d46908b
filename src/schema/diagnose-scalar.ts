import type { SchemaViolation } from '../../gen/spindle/v1/tool_pb.ts';
import { equals, isAtLeastLong, isAtMostLong, isMultipleOf, oneOfValues } from './assertions.ts';
import type { Diagnosis } from './diagnose.ts';
import { keepsFormat } from './formats.ts';
import { matchesPattern } from './pattern.ts';
import type { PlainObject } from './plain-schema.ts';
import { choices, counted, shortened, violation } from './violation.ts';

/** What a model forgets of a format, the offset of a time above all, an example shows. */
const EXAMPLES: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  time: '09:30:00Z or 09:30:00+02:00',
  'date-time': '2026-01-31T09:30:00Z or 2026-01-31T09:30:00+02:00',
  duration: 'P1DT12H',
  email: 'name@example.com',
  uri: 'https://example.com/path',
  url: 'https://example.com/path',
  uuid: '123e4567-e89b-12d3-a456-426614174000',
  ipv4: '192.0.2.1',
};

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
    const { format } = schema;
    const example = EXAMPLES[format];
    const words = example === undefined ? '' : `, as in ${example}`;
    demand(keepsFormat(format, value, budget), 'format', `must be in the format "${format}"${words}`);
  }
  if (typeof value === 'string') {
    const { minLength, maxLength, pattern } = schema;
    if (maxLength !== undefined) {
      demand(
        isAtMostLong(maxLength, value, budget),
        'maxLength',
        `must have at most ${counted(maxLength, 'character')}`,
      );
    }
    if (minLength !== undefined) {
      demand(
        isAtLeastLong(minLength, value, budget),
        'minLength',
        `must have at least ${counted(minLength, 'character')}`,
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
