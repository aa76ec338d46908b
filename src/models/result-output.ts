import type { LanguageModelV4FilePart, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import type { ToolResultPart } from '../../gen/spindle/v1/message_pb.ts';
import { unreachable } from '../core/unreachable.ts';
import type { BlobBytes } from './blob-bytes.ts';
import { type Block, blocksOf } from './blocks.ts';
import type { ProviderTraits } from './provider-traits.ts';

/** A call's end as its provider gets it. */
export interface ResultOutput {
  readonly output: LanguageModelV4ToolResultOutput;
  /** Media that go behind the results, in a message of the user. */
  readonly behind: readonly LanguageModelV4FilePart[];
}

/**
 * The form in which a provider reads a result best: text as text, media as media, an error in its own form. Where a
 * result has a structured value, that is its text (3.2). Nothing of `details_json` or of the presentation is in it.
 */
export function resultOutput(
  { outcome }: ToolResultPart,
  traits: ProviderTraits,
  bytes: BlobBytes,
): ResultOutput {
  switch (outcome.case) {
    case 'error':
      return { output: errorOutput(outcome.value.message, traits), behind: [] };
    case 'result': {
      const { structuredJson, content, isError } = outcome.value;
      const blocks = blocksOf(content, traits.media, bytes);
      const media = blocks.filter((block) => block.kind === 'media');
      const text = structuredJson ?? textOf(blocks);
      // No provider has a form for an error with a picture in it.
      if (isError) return { output: errorOutput(withCount(text, media.length), traits), behind: [] };
      if (media.length === 0) return { output: { type: 'text', value: text }, behind: [] };
      if (traits.mediaPlace === 'user_message') {
        const value = [text, `[${media.length} attached in the next message]`]
          .filter((said) => said !== '')
          .join('\n');
        return { output: { type: 'text', value }, behind: media.map(filePart) };
      }
      const parts =
        structuredJson === undefined ? blocks : [{ kind: 'text' as const, text: structuredJson }, ...media];
      return { output: { type: 'content', value: parts.map(contentPart) }, behind: [] };
    }
    case undefined:
      return { output: { type: 'text', value: '' }, behind: [] };
    default:
      return unreachable(outcome);
  }
}

type ContentOutput = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number];

function contentPart(block: Block): ContentOutput {
  return block.kind === 'text' ? { type: 'text', text: block.text } : filePart(block);
}

export function filePart({ mediaType, data }: Extract<Block, { kind: 'media' }>): LanguageModelV4FilePart {
  return { type: 'file', mediaType, data: { type: 'data', data } };
}

function errorOutput(message: string, { errorForm }: ProviderTraits): LanguageModelV4ToolResultOutput {
  return errorForm ? { type: 'error-text', value: message } : { type: 'text', value: `Error: ${message}` };
}

function textOf(blocks: readonly Block[]): string {
  return blocks.flatMap((block) => (block.kind === 'text' ? block.text : [])).join('\n');
}

function withCount(text: string, media: number): string {
  return media === 0 ? text : `${text}\n[${media} attached, not shown]`;
}
