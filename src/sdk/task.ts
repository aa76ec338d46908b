import { create } from '@bufbuild/protobuf';
import type { z } from 'zod';
import { type TaskContract, TaskContractSchema } from '../../gen/spindle/v1/agent_pb.ts';
import { type JsonSchema, valueSchemaOf } from '../schema/zod.ts';
import { jsonText } from './json.ts';
import { refuseUnknown } from './known-members.ts';

/** A value that a turn has to end with (6.12): a Zod schema of it, or more about it. */
export type TaskOptions = z.ZodType | TaskTerms;

export interface TaskTerms {
  /** The value. With Zod the client parses what the model submitted; with JSON Schema it takes it as it is. */
  readonly result: z.ZodType | JsonSchema;
  /** How often prose without a submission is answered with a reminder. 1 where it is not given. */
  readonly maxReminders?: number;
}

/** The output of a turn under a task. */
export type TaskOutput<Task> = Task extends z.ZodType
  ? z.output<Task>
  : Task extends { readonly result: infer Result extends z.ZodType }
    ? z.output<Result>
    : unknown;

/** The message of a task. Throws an Error that says what JSON Schema cannot express. */
export function taskContractOf(task: TaskOptions): TaskContract {
  const { result, maxReminders } = termsOf(task);
  if (maxReminders !== undefined && !(Number.isInteger(maxReminders) && maxReminders >= 0)) {
    throw new Error(`maxReminders is ${maxReminders}; it has to be an integer from 0`);
  }
  return create(TaskContractSchema, {
    resultSchemaJson: jsonText(isZod(result) ? valueSchemaOf(result) : result, 'the schema'),
    ...(maxReminders === undefined ? {} : { maxReminders }),
  });
}

/** What parses the output; undefined where JSON Schema alone describes it. */
export function taskParserOf(task: TaskOptions | undefined): z.ZodType | undefined {
  if (task === undefined) return undefined;
  const { result } = termsOf(task);
  return isZod(result) ? result : undefined;
}

function termsOf(task: TaskOptions): TaskTerms {
  if (isZod(task)) return { result: task };
  refuseUnknown(task, { result: true, maxReminders: true }, 'the task');
  return task;
}

/** Zod's schemas implement the Standard Schema interface; nothing else here has such a member. */
function isZod(value: TaskOptions | JsonSchema): value is z.ZodType {
  return '~standard' in value;
}
