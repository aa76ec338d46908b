import { create } from '@bufbuild/protobuf';
import { ActionSchema, type Decision, DecisionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import { type ChatMessage, ChatMessageSchema, PartSchema } from '../../../gen/spindle/v1/message_pb.ts';
import type { Content } from '../../../gen/spindle/v1/result_pb.ts';
import type { Blobs } from '../ports.ts';
import { needsBlobs, storeBlock, storeBytes } from '../results.ts';

/** The decision with references in place of bytes, in its messages and in the results that it gives (3.3). */
export async function storeDecision(decision: Decision, tenant: string, blobs: Blobs): Promise<Decision> {
  const messages = await Promise.all(
    decision.messages.map((message) => storeMessage(message, tenant, blobs)),
  );
  const actions = await Promise.all(
    decision.actions.map(async (action) => {
      const { kind } = action;
      if (kind.case === 'modelCall' && kind.value.messages.length > 0) {
        const sent = await Promise.all(
          kind.value.messages.map((message) => storeMessage(message, tenant, blobs)),
        );
        return create(ActionSchema, {
          kind: { case: 'modelCall', value: { ...kind.value, messages: sent } },
        });
      }
      if (kind.case === 'subagentSpawn' && kind.value.message !== undefined) {
        const message = await storeMessage(kind.value.message, tenant, blobs);
        return create(ActionSchema, { kind: { case: 'subagentSpawn', value: { ...kind.value, message } } });
      }
      if (kind.case !== 'toolResult' || kind.value.form.case !== 'result') return action;
      const result = await storeBytes(kind.value.form.value, tenant, blobs);
      const value = { ...kind.value, form: { case: 'result' as const, value: result } };
      return create(ActionSchema, { kind: { case: 'toolResult', value } });
    }),
  );
  return create(DecisionSchema, { ...decision, messages, actions });
}

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
