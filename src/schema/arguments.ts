import { create } from '@bufbuild/protobuf';
import {
  InvalidInputSchema,
  MalformedInputSchema,
  type SchemaViolation,
  type ToolInput,
  ToolInputSchema,
  ValidInputSchema,
} from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_REPAIR_BYTES } from '../core/limits.ts';
import { withoutAbsentNulls } from './absent-nulls.ts';
import { ARGUMENT_LIMITS } from './argument-limits.ts';
import type { Validator } from './compile.ts';
import { type JsonReading, readJson } from './json-text.ts';
import { repairObject } from './repair.ts';
import { violation } from './violation.ts';

export interface ArgumentOptions {
  /** The tool or the agent asked for the repair ladder (1.7). */
  readonly repair: boolean;
  /** The model stopped writing because it ran out of room, so the text may be cut anywhere (1.8). */
  readonly stoppedForLength: boolean;
  /** The model was told to write null for what it leaves out, as strict forms want it (2.6). */
  readonly nullForAbsent?: boolean;
}

const NO_REPAIRS: readonly string[] = [];

/** The verdict of nearly every call, shared: a message is never changed once it was handed on. */
const VALID: ToolInput = create(ToolInputSchema, {
  status: { case: 'valid', value: create(ValidInputSchema) },
});

/** The verdict on arguments as they were written (1.2). `validator` is absent where the tool has no schema. */
export function checkArguments(
  validator: Validator | undefined,
  text: string,
  { repair, stoppedForLength, nullForAbsent = false }: ArgumentOptions,
): ToolInput {
  const plain = nullForAbsent ? validator?.plain.schema : undefined;
  const judged = (json: string, repairs: readonly string[]): ToolInput => {
    const shorter = plain === undefined ? undefined : withoutAbsentNulls(plain, json);
    return shorter === undefined
      ? judge(validator, json, repairs)
      : judge(validator, shorter, [...repairs, 'nulls']);
  };
  if (isBlank(text)) {
    // A model that ran out of room may have been about to write anything (1.8).
    if (stoppedForLength) return malformed('the arguments are empty, and the model stopped for length');
    return judge(validator, '{}', ['empty']);
  }
  const reading = readJson(text, ARGUMENT_LIMITS);
  if (reading.kind === 'json' && reading.root === 'object') return judged(text, NO_REPAIRS);
  const repaired = repair ? repairObject(text, stoppedForLength) : undefined;
  if (repaired !== undefined) return judged(repaired.json, repaired.steps);
  return malformed(`${problemOf(reading)}${repair ? unrepaired(text, stoppedForLength) : ''}`);
}

/** JSON's white space alone: a no-break space is text. */
function isBlank(text: string): boolean {
  return text === '' || /^[ \t\r\n]*$/.test(text);
}

function judge(validator: Validator | undefined, json: string, repairs: readonly string[]): ToolInput {
  const value: unknown = validator === undefined ? undefined : JSON.parse(json);
  const check = validator?.check(value) ?? 'matches';
  if (check === 'matches' && repairs.length === 0) return VALID;
  const made = { repairs: [...repairs], ...(repairs.length === 0 ? {} : { repairedJson: json }) };
  if (check === 'matches') {
    return create(ToolInputSchema, { status: { case: 'valid', value: create(ValidInputSchema, made) } });
  }
  const violations =
    check === 'spent' || validator === undefined ? [tooCostly()] : [...validator.explain(value)];
  return create(ToolInputSchema, {
    status: { case: 'invalid', value: create(InvalidInputSchema, { ...made, violations }) },
  });
}

function malformed(error: string): ToolInput {
  return create(ToolInputSchema, {
    status: { case: 'malformed', value: create(MalformedInputSchema, { error }) },
  });
}

function problemOf(reading: JsonReading): string {
  if (reading.kind === 'refused') return `the arguments are not acceptable JSON: ${reading.problem}`;
  return `the arguments are a JSON ${reading.root}, but have to be a JSON object`;
}

function unrepaired(text: string, stoppedForLength: boolean): string {
  if (Buffer.byteLength(text) > MAX_REPAIR_BYTES)
    return `; text over ${MAX_REPAIR_BYTES} bytes is not repaired`;
  if (stoppedForLength) return '; text that was cut for length is not completed';
  return '; no repair was possible';
}

function tooCostly(): SchemaViolation {
  return violation('', '', 'is too large to check against this schema; send less at once');
}
