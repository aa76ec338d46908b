import { create } from '@bufbuild/protobuf';
import { type ChatMessage, ChatMessageSchema, PartSchema } from '../../../gen/spindle/v1/message_pb.ts';
import type { Content } from '../../../gen/spindle/v1/result_pb.ts';
import type { Blobs } from '../ports.ts';
import { needsBlobs, storeBlock, storeBytes } from '../results.ts';

/** The message with references in place of bytes, which are durable when this resolves (3.3). */
export async function storeMessage(message: ChatMessage, tenant: string, blobs: Blobs): Promise<ChatMessage> {
  const parts = await Promise.all(
    message.parts.map(async (part) => {
      const { kind } = part;
      if (kind.case === 'content' && holdsBytes(kind.value)) {
        return create(PartSchema, {
          ...part,
          kind: { case: 'content', value: await storeBlock(kind.value, tenant, blobs) },
        });
      }
      if (
        kind.case === 'toolResult' &&
        kind.value.outcome.case === 'result' &&
        needsBlobs(kind.value.outcome.value)
      ) {
        const result = await storeBytes(kind.value.outcome.value, tenant, blobs);
        const value = { ...kind.value, outcome: { case: 'result' as const, value: result } };
        return create(PartSchema, { ...part, kind: { case: 'toolResult', value } });
      }
      return part;
    }),
  );
  return create(ChatMessageSchema, { ...message, parts });
}

function holdsBytes(block: Content): boolean {
  return needsBlobs({ content: [block] });
}
