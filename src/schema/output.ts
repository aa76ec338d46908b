import type { ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import { MAX_JSON_DEPTH, MAX_JSON_FIELD_BYTES } from '../core/limits.ts';
import type { Validator } from './compile.ts';
import { listViolations } from './explain.ts';
import { type JsonLimits, readJson } from './json-text.ts';

/** A result is the tool's own work, so its keys are not counted. */
const OUTPUT_LIMITS: JsonLimits = {
  maxBytes: MAX_JSON_FIELD_BYTES,
  maxDepth: MAX_JSON_DEPTH,
  maxKeys: MAX_JSON_FIELD_BYTES,
};

/** What is wrong with a result by its output schema; undefined where nothing is (3.2). */
export function checkResult(validator: Validator, result: ToolResult): string | undefined {
  if (result.isError) return undefined;
  const output = outputOf(result);
  if (output.kind === 'unusable') return output.reason;
  switch (validator.check(output.value)) {
    case 'matches':
      return undefined;
    case 'spent':
      return 'It is too large to check against the output schema.';
    case 'differs':
      return `It does not match the tool's output schema: ${listViolations(validator.explain(output.value))}`;
  }
}

type Output =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'unusable'; readonly reason: string };

/** The structured value if there; else the one text block, as JSON if it parses and as a string if not. */
function outputOf({ structuredJson, content }: ToolResult): Output {
  if (structuredJson !== undefined) {
    const reading = readJson(structuredJson, OUTPUT_LIMITS);
    if (reading.kind === 'json') return { kind: 'value', value: JSON.parse(structuredJson) };
    return { kind: 'unusable', reason: `Its structured_json is not usable: ${reading.problem}.` };
  }
  const [block, ...others] = content;
  if (block?.kind.case !== 'text' || others.length > 0) {
    const reason =
      'The tool declares an output schema, so its result needs structured_json, or one text block and no other.';
    return { kind: 'unusable', reason };
  }
  const { text } = block.kind.value;
  return { kind: 'value', value: readJson(text, OUTPUT_LIMITS).kind === 'json' ? JSON.parse(text) : text };
}
