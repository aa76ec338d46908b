import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { create } from '@bufbuild/protobuf';
import { type Delta, DeltaSchema, ToolCallPartSchema } from '../../gen/spindle/v1/message_pb.ts';
import type { ModelResponse } from '../../gen/spindle/v1/trigger_pb.ts';
import { MAX_CALLS_PER_ANSWER, MAX_MODEL_ANSWER_BYTES } from '../core/limits.ts';
import { type AnswerEnd, type Draft, type OwnMetadataOf, responseOf } from './response.ts';

/** What came back, as far as it went. */
export type ReadAnswer =
  | { readonly kind: 'response'; readonly response: ModelResponse }
  /** The provider, or its library, says so. */
  | { readonly kind: 'error'; readonly error: unknown }
  /** The stream ended before the answer did. */
  | { readonly kind: 'broken_off' }
  /** The provider withheld the whole answer. */
  | { readonly kind: 'withheld' }
  | { readonly kind: 'too_large'; readonly what: string };

export interface AnswerContext {
  /** The model call, which deltas of text name. */
  readonly modelCallId: string;
  /** Ours for the provider's id of a call; each is asked for once. */
  readonly callId: (provided: string) => string;
  /** A tool's own name for the provider's. */
  readonly toolName: (provided: string) => string;
  /** What Spindle keeps on a call's part. */
  readonly ownMetadata: OwnMetadataOf;
  readonly onDelta: (delta: Delta) => void;
}

/** Reads a provider's stream to its end. Rejects as the stream does. */
export async function readAnswer(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  context: AnswerContext,
): Promise<ReadAnswer> {
  const drafts: Draft[] = [];
  const open = new Map<string, Extract<Draft, { kind: 'text' | 'reasoning' }>>();
  const calls = new Map<string, Extract<Draft, { kind: 'call' }>>();
  let end: AnswerEnd | undefined;
  let model = '';
  let id = '';
  let units = 0;

  const tell = (kind: Delta['kind']): void =>
    context.onDelta(create(DeltaSchema, { callId: context.modelCallId, kind }));
  const begin = (kind: 'text' | 'reasoning', key: string, metadata?: SharedV4ProviderMetadata): void => {
    const draft = { kind, text: '', metadata };
    drafts.push(draft);
    open.set(`${kind} ${key}`, draft);
  };
  const grow = (
    kind: 'text' | 'reasoning',
    key: string,
    more: string,
    metadata?: SharedV4ProviderMetadata,
  ): void => {
    if (!open.has(`${kind} ${key}`)) begin(kind, key);
    const draft = open.get(`${kind} ${key}`);
    if (draft === undefined) return;
    draft.text += more;
    draft.metadata = merged(draft.metadata, metadata);
    units += more.length;
    if (more !== '') tell({ case: kind, value: more });
  };
  const beginCall = (provided: string, providedName: string): Extract<Draft, { kind: 'call' }> => {
    const draft = {
      kind: 'call' as const,
      provided,
      callId: context.callId(provided),
      name: context.toolName(providedName),
      arguments: '',
      metadata: undefined,
      ended: false,
    };
    drafts.push(draft);
    calls.set(provided, draft);
    return draft;
  };
  const tellCall = ({ callId, name }: { callId: string; name: string }, more: string): void =>
    tell({ case: 'toolCall', value: create(ToolCallPartSchema, { callId, name, arguments: more }) });

  for await (const part of stream) {
    switch (part.type) {
      case 'text-start':
        begin('text', part.id, part.providerMetadata);
        break;
      case 'text-delta':
        grow('text', part.id, part.delta, part.providerMetadata);
        break;
      case 'text-end':
        grow('text', part.id, '', part.providerMetadata);
        open.delete(`text ${part.id}`);
        break;
      case 'reasoning-start':
        begin('reasoning', part.id, part.providerMetadata);
        break;
      case 'reasoning-delta':
        grow('reasoning', part.id, part.delta, part.providerMetadata);
        break;
      case 'reasoning-end':
        grow('reasoning', part.id, '', part.providerMetadata);
        open.delete(`reasoning ${part.id}`);
        break;
      case 'tool-input-start':
        if (part.providerExecuted !== true) tellCall(beginCall(part.id, part.toolName), '');
        break;
      case 'tool-input-delta': {
        const call = calls.get(part.id);
        if (call === undefined) break;
        call.arguments += part.delta;
        units += part.delta.length;
        if (part.delta !== '') tellCall(call, part.delta);
        break;
      }
      case 'tool-call': {
        if (part.providerExecuted === true) break;
        const known = calls.get(part.toolCallId);
        const call = known === undefined || known.ended ? beginCall(part.toolCallId, part.toolName) : known;
        if (call.arguments === '') {
          call.arguments = part.input;
          units += part.input.length;
          if (part.input !== '') tellCall(call, part.input);
        }
        call.metadata = part.providerMetadata;
        call.ended = true;
        break;
      }
      case 'file':
        if (part.data.type === 'data') {
          const data =
            typeof part.data.data === 'string' ? Buffer.from(part.data.data, 'base64') : part.data.data;
          drafts.push({ kind: 'file', mediaType: part.mediaType, data });
          units += data.byteLength;
        }
        break;
      case 'response-metadata':
        id = part.id ?? id;
        model = part.modelId ?? model;
        break;
      case 'finish':
        end = part;
        break;
      case 'error':
        return { kind: 'error', error: part.error };
      default:
        break;
    }
    if (units > MAX_MODEL_ANSWER_BYTES) {
      return { kind: 'too_large', what: `is larger than ${MAX_MODEL_ANSWER_BYTES} bytes` };
    }
    if (calls.size > MAX_CALLS_PER_ANSWER) {
      return { kind: 'too_large', what: `makes more than ${MAX_CALLS_PER_ANSWER} calls` };
    }
  }

  if (end === undefined) return { kind: 'broken_off' };
  const { unified } = end.finishReason;
  const silent = drafts.every(
    (draft) => draft.kind === 'reasoning' || (draft.kind === 'text' && draft.text === ''),
  );
  if (unified === 'error' || unified === 'interrupted') return { kind: 'broken_off' };
  if (unified === 'content-filter' && silent) return { kind: 'withheld' };
  const response = responseOf(drafts, end, { id, model }, context.ownMetadata);
  return { kind: 'response', response };
}

/** Later metadata of a block completes earlier ones: a signature comes at the end. */
function merged(
  before: SharedV4ProviderMetadata | undefined,
  more: SharedV4ProviderMetadata | undefined,
): SharedV4ProviderMetadata | undefined {
  if (before === undefined || more === undefined) return more ?? before;
  const whole = { ...before };
  for (const [namespace, members] of Object.entries(more))
    whole[namespace] = { ...whole[namespace], ...members };
  return whole;
}
