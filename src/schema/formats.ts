import type { Format } from 'ajv';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { MAX_FORMATTED_CHARS } from '../core/limits.ts';
import { type Budget, spend } from './budget.ts';

const SHORT_FORMATS = [
  'date',
  'time',
  'date-time',
  'iso-time',
  'iso-date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
] as const;
const LONG_FORMATS = [
  'uri',
  'uri-reference',
  'uri-template',
  'json-pointer',
  'json-pointer-uri-fragment',
  'relative-json-pointer',
  'byte',
] as const;

type StringTest = (text: string) => boolean;
type NumberTest = (value: number) => boolean;

export type EnforcedFormat =
  | { readonly type: 'string'; readonly test: StringTest }
  | { readonly type: 'number'; readonly test: NumberTest };

const isUri = stringTest(fullFormats.uri);

/**
 * The formats that are enforced, as in most validators that tool authors know; any other annotates (2.3).
 * Those of ajv-formats run on the platform's backtracking engine, and each was measured to take linear time
 * on strings made to stall it; `url`, which does not, is made of `uri`. `regex` annotates: parsing a foreign
 * expression is not linear.
 */
export const ENFORCED_FORMATS: ReadonlyMap<string, EnforcedFormat> = new Map<string, EnforcedFormat>([
  ...SHORT_FORMATS.map((name): [string, EnforcedFormat] => {
    const test = stringTest(fullFormats[name]);
    return [name, { type: 'string', test: (text) => text.length <= MAX_FORMATTED_CHARS && test(text) }];
  }),
  ...LONG_FORMATS.map((name): [string, EnforcedFormat] => [
    name,
    { type: 'string', test: stringTest(fullFormats[name]) },
  ]),
  ['url', { type: 'string', test: (text) => /^(?:https?|ftp):\/\/[^/]/i.test(text) && isUri(text) }],
  ['int32', { type: 'number', test: (value) => Number.isInteger(value) && value === (value | 0) }],
  ['int64', { type: 'number', test: (value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63 }],
]);

/** Whether a value keeps to a format; one of another type does, and so does any value of an unknown format. */
export function keepsFormat(name: string, value: unknown, budget: Budget): boolean {
  const format = ENFORCED_FORMATS.get(name);
  switch (format?.type) {
    case 'string':
      if (typeof value !== 'string') return true;
      spend(budget, 1 + 2 * value.length);
      return format.test(value);
    case 'number':
      return typeof value !== 'number' || format.test(value);
    case undefined:
      return true;
  }
}

function stringTest(format: Format): StringTest {
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === 'function') return (text) => format(text);
  if (typeof format === 'object' && 'validate' in format) {
    const { validate } = format;
    if (validate instanceof RegExp) return (text) => validate.test(text);
    if (typeof validate === 'function') return (text) => validate(text as never) === true;
  }
  throw new Error('a format of ajv-formats has an unexpected shape');
}
