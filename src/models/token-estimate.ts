import type { ModelRequest } from '../../gen/spindle/v1/trigger_pb.ts';

/** A token of the common tokenizers is about four characters of English or JSON. */
const CHARS_PER_TOKEN = 4;

/** About how many tokens a provider would count, for models that count none. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

/** About how many input tokens a request has, its tools included. */
export function requestTokens({ messages, tools }: ModelRequest): number {
  let chars = 0;
  for (const { parts } of messages) {
    for (const { kind } of parts) {
      if (kind.case === 'content' && kind.value.kind.case === 'text')
        chars += kind.value.kind.value.text.length;
      else if (kind.case === 'reasoning') chars += kind.value.text.length;
      else if (kind.case === 'toolCall') chars += kind.value.name.length + kind.value.arguments.length;
      else if (kind.case === 'toolResult') chars += JSON.stringify(readable(kind.value.outcome)).length;
    }
  }
  for (const tool of tools) chars += tool.name.length + tool.description.length + tool.inputSchemaJson.length;
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

type Outcome = Extract<
  ModelRequest['messages'][number]['parts'][number]['kind'],
  { case: 'toolResult' }
>['value']['outcome'];

function readable(outcome: Outcome): unknown {
  if (outcome.case === 'error') return outcome.value.message;
  if (outcome.value === undefined) return '';
  const { structuredJson, content } = outcome.value;
  return structuredJson ?? content.map(({ kind }) => (kind.case === 'text' ? kind.value.text : ''));
}
