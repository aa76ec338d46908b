import type { LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from '@ai-sdk/provider';

/** An answer that came as a whole, as the parts of one that comes in pieces: both are read alike. */
export async function* wholeAnswer({
  content,
  finishReason,
  usage,
  response,
}: LanguageModelV4GenerateResult): AsyncGenerator<LanguageModelV4StreamPart> {
  if (response !== undefined) yield { type: 'response-metadata', ...response };
  for (const [index, part] of content.entries()) {
    const id = String(index);
    switch (part.type) {
      case 'text':
      case 'reasoning': {
        const metadata =
          part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata };
        yield { type: `${part.type}-start`, id, ...metadata };
        yield { type: `${part.type}-delta`, id, delta: part.text };
        yield { type: `${part.type}-end`, id };
        break;
      }
      case 'tool-call':
      case 'file':
        yield part;
        break;
      default:
        break;
    }
  }
  yield { type: 'finish', finishReason, usage };
}
