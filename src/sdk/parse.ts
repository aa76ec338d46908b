import type { z } from 'zod';
import type { Failure } from '../../gen/spindle/v1/result_pb.ts';
import { type FailureCode, failure } from '../core/failure.ts';
import { MAX_EXPLAINED_VIOLATIONS, MAX_EXPLANATION_CHARS } from '../core/limits.ts';

/** A value, or the failure that says why there is none. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure };

type Issue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

/** Parses a value with a Zod schema, asynchronous checks included. What a check of the schema throws is thrown. */
export async function parseWith<S extends z.ZodType>(
  schema: S,
  value: unknown,
  code: FailureCode,
  what: string,
): Promise<Parsed<z.output<S>>> {
  const pending = schema['~standard'].validate(value);
  // A schema without asynchronous checks answers at once, and the call saves a turn of the queue.
  const parsed = pending instanceof Promise ? await pending : pending;
  if (parsed.issues === undefined) return { ok: true, value: parsed.value };
  return { ok: false, failure: failure(code, explain(what, parsed.issues)) };
}

/** The first few issues with their pointers, short enough for a model to read (1.9). */
function explain(what: string, issues: readonly Issue[]): string {
  const named = issues.slice(0, MAX_EXPLAINED_VIOLATIONS).map(({ message, path }) => {
    const pointer = (path ?? []).map((step) => `/${String(typeof step === 'object' ? step.key : step)}`);
    return `${pointer.length === 0 ? 'the root' : pointer.join('')}: ${message}`;
  });
  const more = issues.length - named.length;
  const text = `${what} not valid. ${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
  return text.length < MAX_EXPLANATION_CHARS ? text : `${text.slice(0, MAX_EXPLANATION_CHARS - 2)}…`;
}
