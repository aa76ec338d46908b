import type { Content, ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import { MAX_JSON_DEPTH, MAX_MESSAGE_BYTES } from '../core/limits.ts';
import { readJson } from './json-text.ts';

export type ReadAnswer =
  | { readonly kind: 'result'; readonly result: ToolResult }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** The message that carries the value is bounded, and so is what is kept of it (3.4); this adds the depth. */
const VALUE_LIMITS = { maxBytes: MAX_MESSAGE_BYTES, maxDepth: MAX_JSON_DEPTH, maxKeys: MAX_MESSAGE_BYTES };

/**
 * The result that an answer's `value_json` stands for (3.1): a string is its own text, anything else its
 * JSON as the worker wrote it, and the structured value as well where the tool has an output schema.
 */
export function resultOfValue(valueJson: string, hasOutputSchema: boolean): ReadAnswer {
  const reading = readJson(valueJson, VALUE_LIMITS);
  if (reading.kind === 'refused')
    return { kind: 'unreadable', reason: `value_json is not usable: ${reading.problem}` };
  const text = reading.root === 'string' ? String(JSON.parse(valueJson)) : valueJson;
  const result: ToolResult = {
    $typeName: 'spindle.v1.ToolResult',
    content: [textBlock(text)],
    structuredJson: hasOutputSchema ? valueJson : undefined,
    isError: false,
    endsTurn: false,
    activity: '',
    detailsJson: '',
    presentation: [],
  };
  return { kind: 'result', result };
}

/** A result that says nothing at all is one empty text block (3.1). */
export function withContent(result: ToolResult): ToolResult {
  if (result.content.length > 0 || result.structuredJson !== undefined) return result;
  return { ...result, content: [textBlock('')] };
}

function textBlock(text: string): Content {
  const value = { $typeName: 'spindle.v1.TextContent', text, mimeType: '' } as const;
  return { $typeName: 'spindle.v1.Content', kind: { case: 'text', value } };
}
