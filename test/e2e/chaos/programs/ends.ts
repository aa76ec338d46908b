import type { Failure, ToolResult } from '../../../../gen/spindle/v1/result_pb.ts';
import type { CallResult } from '../../../../src/sdk/index.ts';

/** The end of a call as one text, so that what a caller saw and what was recorded can be compared. */
export function seenEnd(result: CallResult): string {
  return result.ok ? `result ${result.text}` : `error ${result.error.code}`;
}

/** The same of what the journal keeps, or of what GetCall and ListCalls answer. Undefined while there is no end. */
export function recordedEnd(
  outcome:
    | { readonly case: 'result'; readonly value: ToolResult }
    | { readonly case: 'error'; readonly value: Failure }
    | { readonly case: undefined; readonly value?: undefined },
): string | undefined {
  switch (outcome.case) {
    case 'result':
      return `result ${outcome.value.content.map(({ kind }) => (kind.case === 'text' ? kind.value.text : '')).join('')}`;
    case 'error':
      return `error ${outcome.value.code}`;
    case undefined:
      return undefined;
  }
}
