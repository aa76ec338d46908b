import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FinishReason, type ModelResponse } from '../../gen/spindle/v1/trigger_pb.ts';
import type { ModelAnswer } from '../../src/engine/ports.ts';
import { callsIn, converse, textIn } from './driver.ts';
import { KINDS, modelOf, serveProvider } from './providers.ts';
import { readConversation } from './wire/conversation.ts';

const NAMES = readdirSync(join(import.meta.dirname, 'conversations')).map((file) =>
  file.replace('.toml', ''),
);

function responsesOf(answers: readonly ModelAnswer[]): readonly ModelResponse[] {
  return answers.map((answer) => {
    if (answer.kind === 'response') return answer.response;
    throw new Error(answer.failure.message);
  });
}

/** Text and calls of each answer, as the file has them. */
const FINISH = {
  stop: FinishReason.STOP,
  calls: FinishReason.TOOL_CALLS,
  length: FinishReason.LENGTH,
  filter: FinishReason.CONTENT_FILTER,
};

describe.each([true, false])('with streaming %s', (streaming) => {
  describe.each(KINDS)('%s', (kind) => {
    const told = NAMES.map(readConversation).filter(
      ({ not_for }) => !(kind in not_for) && (streaming || !(`${kind}, whole` in not_for)),
    );

    it.each(told)('2.6, 6.5, 6.6: $about', async (conversation) => {
      const blobs = new Map<string, Uint8Array>();
      await using served = await serveProvider(kind, conversation.answers, {
        settings: { streaming },
        blobs,
      });
      const spoken = await converse(served.models, modelOf(kind), conversation, blobs);
      const responses = responsesOf(spoken.answers);
      expect(responses.map(textIn)).toEqual(conversation.answers.map(({ text }) => text.join('')));
      expect(responses.map((response) => callsIn(response).map(({ name }) => name))).toEqual(
        conversation.answers.map(({ calls }) => calls.map(({ name }) => name)),
      );
      expect(responses.map(({ finishReason }) => finishReason)).toEqual(
        conversation.answers.map(({ finish, calls }) =>
          finish === 'stop' && calls.length > 0 ? FinishReason.TOOL_CALLS : FINISH[finish],
        ),
      );
      const ids = responses.flatMap((response) => callsIn(response).map(({ callId }) => callId));
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.every((id) => /^[\x21-\x7e]{1,128}$/.test(id))).toBe(true);
      expect(responses.map(({ responseId }) => responseId)).toEqual(conversation.answers.map(({ id }) => id));
      const sent = JSON.stringify(served.server.requests);
      expect(sent).not.toContain('for-people');
    });
  });
});
