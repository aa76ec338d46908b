import { createHash } from 'node:crypto';
import type { ChatMessage } from '../../gen/spindle/v1/message_pb.ts';
import { ownMetadata } from '../core/own-metadata.ts';
import type { ProviderTraits } from './provider-traits.ts';

/**
 * The ids of a request's calls as its provider takes them, by our own ids (6.5). A call goes back under the id that
 * this provider gave it, unless another call of the request has the same.
 */
export function providerCallIds(
  messages: readonly ChatMessage[],
  provider: string,
  { callId: takes }: ProviderTraits,
): (callId: string) => string {
  const given = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const { kind, providerMetadataJson } of messages.flatMap(({ parts }) => parts)) {
    if (kind.case !== 'toolCall') continue;
    const own = ownMetadata(providerMetadataJson);
    const original = own.provider === provider ? own.callId : undefined;
    const id = original !== undefined && takes.test(original) ? original : kind.value.callId;
    given.set(kind.value.callId, id);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return (callId) => {
    const id = given.get(callId) ?? callId;
    const chosen = (counts.get(id) ?? 0) > 1 ? callId : id;
    return takes.test(chosen) ? chosen : `call_${digest(callId)}`;
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
