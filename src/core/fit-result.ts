import { create } from '@bufbuild/protobuf';
import { type Part, PartSchema, ToolResultPartSchema } from '../../gen/spindle/v1/message_pb.ts';
import {
  ContentSchema,
  FailureSchema,
  type ToolResult,
  ToolResultSchema,
} from '../../gen/spindle/v1/result_pb.ts';
import { excerpt, shortened } from './excerpt.ts';
import { MAX_INLINE_TEXT_BYTES, MAX_VIOLATION_NAME_CHARS, TEXT_EXCERPT_BYTES } from './limits.ts';
import type { CallOutcome } from './paired-calls.ts';

/** What a model reads of a result that holds nothing. */
export const EMPTY_RESULT = '(no output)';

export interface FittedResult {
  readonly part: Part;
  /** What was changed, in a sentence; undefined where nothing was. */
  readonly repair: string | undefined;
}

/** A result that says something, and no more than a model can use (3.4). */
export function fitResult(part: Part, callId: string): FittedResult {
  if (part.kind.case !== 'toolResult') return { part, repair: undefined };
  const { value } = part.kind;
  const fitted = fitOutcome(value.outcome, callId);
  if (fitted === undefined) return { part, repair: undefined };
  const result = create(ToolResultPartSchema, { ...value, outcome: fitted.outcome });
  return {
    part: create(PartSchema, { ...part, kind: { case: 'toolResult', value: result } }),
    repair: fitted.repair,
  };
}

function fitOutcome(
  outcome: CallOutcome,
  callId: string,
): { readonly outcome: CallOutcome; readonly repair: string } | undefined {
  const name = shortened(callId, MAX_VIOLATION_NAME_CHARS);
  const text = textOf(outcome);
  if (text.trim() === '' && !hasMore(outcome)) {
    return {
      outcome: withText(outcome, EMPTY_RESULT),
      repair: `the result of call ${name} is empty, and got a placeholder`,
    };
  }
  // Three bytes of UTF-8 for each code unit at most: a short text need not be measured.
  if (text.length * 3 <= MAX_INLINE_TEXT_BYTES) return undefined;
  const bytes = new TextEncoder().encode(text).byteLength;
  if (bytes <= MAX_INLINE_TEXT_BYTES) return undefined;
  const head = excerpt(text, TEXT_EXCERPT_BYTES);
  const reference = `[Cut: this is the beginning of ${bytes} bytes. The whole result is on record under call ${name}.]`;
  return {
    outcome: withText(outcome, `${head}\n\n${reference}`),
    repair: `the result of call ${name} has ${bytes} bytes of text, of which the first ${TEXT_EXCERPT_BYTES} were sent`,
  };
}

/** The text that a model reads: the structured value before the blocks (3.2). */
function textOf(outcome: CallOutcome): string {
  switch (outcome.case) {
    case 'result': {
      const { structuredJson, content } = outcome.value;
      return structuredJson ?? content.map(blockText).join('\n');
    }
    case 'error':
      return outcome.value.message;
    default:
      return '';
  }
}

function blockText({ kind }: ToolResult['content'][number]): string {
  if (kind.case === 'text') return kind.value.text;
  return kind.case === 'resource' && kind.value.body.case === 'text' ? kind.value.body.value : '';
}

/** Whether a model can read something beside text: a picture, a reference. */
function hasMore(outcome: CallOutcome): boolean {
  return (
    outcome.case === 'result' &&
    outcome.value.content.some(({ kind }) => kind.case !== undefined && kind.case !== 'text')
  );
}

/** The same outcome with another text; what is not text stays. */
function withText(outcome: CallOutcome, text: string): CallOutcome {
  switch (outcome.case) {
    case 'result': {
      const { structuredJson: _, ...rest } = outcome.value;
      const others = rest.content.filter((block) => blockText(block) === '' && block.kind.case !== 'text');
      const block = create(ContentSchema, { kind: { case: 'text', value: { text } } });
      const content = [block, ...others];
      return { case: 'result', value: create(ToolResultSchema, { ...rest, content }) };
    }
    case 'error':
      return { case: 'error', value: create(FailureSchema, { ...outcome.value, message: text }) };
    default:
      return outcome;
  }
}
