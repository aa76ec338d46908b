import { create } from '@bufbuild/protobuf';
import { ToolResultSchema } from '../../../gen/spindle/v1/result_pb.ts';
import { ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import { resultOfValue } from '../../../src/schema/answer.ts';
import { explainInput } from '../../../src/schema/explain.ts';
import { createSchemas, type Schemas } from '../../../src/schema/schemas.ts';
import { summary } from '../tools.ts';
import type { FuzzCase } from './generate.ts';

/** What no definition and no check may take of the processor. */
const MAX_STEP_MS = 50;

export interface Finding {
  readonly problem: string;
  readonly fuzzCase: FuzzCase;
}

/** Runs cases against one set of schemas, as the engine does, and says what is wrong with each. */
export function createExaminer(): (fuzzCase: FuzzCase) => Finding | undefined {
  // Compiles what is ours, the meta-schemas, before a case is timed.
  const schemas = createSchemas({ maxCachedValidators: 100 });
  for (const dialect of ['draft-07/schema#', 'draft/2020-12/schema']) {
    schemas.define(
      create(ToolSchema, {
        name: 'warm',
        inputSchemaJson: `{"$schema":"http://json-schema.org/${dialect}"}`,
      }),
    );
  }
  return (fuzzCase) => {
    let problem = attempt(schemas, fuzzCase);
    // The garbage collector and the compiler of the platform run when they like; a slow case is slow each time.
    for (let retry = 0; retry < 2 && problem?.startsWith('took'); retry += 1)
      problem = attempt(createSchemas(), fuzzCase);
    return problem === undefined ? undefined : { problem, fuzzCase };
  };
}

function attempt(schemas: Schemas, fuzzCase: FuzzCase): string | undefined {
  const clock = { slowest: 0 };
  try {
    const problem = judge(timed(schemas, clock), fuzzCase);
    return problem ?? (clock.slowest > MAX_STEP_MS ? `took ${clock.slowest} ms` : undefined);
  } catch (error) {
    return `threw ${error instanceof Error ? error.stack : String(error)}`;
  }
}

/** The same schemas, with the slowest use of them noted, in milliseconds of CPU. */
function timed(schemas: Schemas, clock: { slowest: number }): Schemas {
  function note<Result>(step: () => Result): Result {
    const before = process.cpuUsage();
    const result = step();
    const { user, system } = process.cpuUsage(before);
    clock.slowest = Math.max(clock.slowest, (user + system) / 1_000);
    return result;
  }
  return {
    define: (tool) => note(() => schemas.define(tool)),
    checkArguments: (definition, text, options) =>
      note(() => schemas.checkArguments(definition, text, options)),
    checkOutput: (definition, result) => note(() => schemas.checkOutput(definition, result)),
    cachedValidators: schemas.cachedValidators,
  };
}

function judge(schemas: Schemas, { schema, text }: FuzzCase): string | undefined {
  const defined = schemas.define(
    create(ToolSchema, { name: 'tool', inputSchemaJson: schema, outputSchemaJson: schema }),
  );
  const definition = defined.kind === 'defined' ? defined.definition : undefined;
  if (defined.kind === 'refused' && !defined.reason.startsWith('tool "tool": input schema, at '))
    return 'gave a reason without a place';
  const verdict = (arguments_: string, repair: boolean) =>
    schemas.checkArguments(definition, arguments_, { repair, stoppedForLength: false });
  const strict = verdict(text, false);
  const repaired = verdict(text, true);
  for (const input of [strict, repaired]) {
    if (explainInput('tool', input).length >= 1_000) return 'explained at length';
  }
  const first = summary(strict, text);
  const second = summary(repaired, text);
  if (isObject(text) && first.status !== 'malformed' && JSON.stringify(first) !== JSON.stringify(second))
    return 'repaired valid text';
  if (!isObject(text) && first.status !== 'malformed' && text.trim() !== '') return 'took what is no object';
  if (second.status !== 'malformed') {
    const json = second.value_json ?? '';
    if (!isObject(json) && json !== text) return 'made what is no object';
    const third = summary(verdict(json, true), json);
    if (text.trim() !== '' && (third.repairs.length > 0 || third.status !== second.status))
      return 'made what needs repair';
  }
  if (definition !== undefined) {
    const read = resultOfValue(text, true);
    schemas.checkOutput(definition, read.kind === 'result' ? read.result : create(ToolResultSchema));
  }
  return undefined;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
