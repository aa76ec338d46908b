import type { MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { type ToolResultPart, ToolResultPartSchema } from '../../gen/spindle/v1/message_pb.ts';
import type { ContentSchema } from '../../gen/spindle/v1/result_pb.ts';
import { MAX_INLINE_TEXT_BYTES, TEXT_EXCERPT_BYTES } from '../../src/core/limits.ts';
import { traitsOf } from '../../src/models/provider-traits.ts';
import { resultOutput } from '../../src/models/result-output.ts';
import { converse } from './driver.ts';
import { KINDS, modelOf, serveProvider } from './providers.ts';
import { readConversation } from './wire/conversation.ts';

type ContentInit = MessageInitShape<typeof ContentSchema>;

function result(
  content: readonly ContentInit[],
  more: { isError?: boolean; structuredJson?: string } = {},
): ToolResultPart {
  const value = {
    content: [...content],
    detailsJson: '"for people"',
    presentation: [{ payloadJson: '"for people"' }],
    ...more,
  };
  return create(ToolResultPartSchema, { callId: 'c', name: 't', outcome: { case: 'result', value } });
}

const text = (said: string): ContentInit => ({ kind: { case: 'text', value: { text: said } } });
const blob = (mimeType: string, uri = 'blob:x'): ContentInit => ({
  kind: { case: 'blob', value: { uri, mimeType, sizeBytes: 4n } },
});
const bytes = new Map([['blob:x', new Uint8Array([1, 2, 3, 4])]]);
const traits = traitsOf('anthropic', 'anthropic');
const chat = traitsOf('openai-compatible', 'here');

const READ: readonly (readonly [string, readonly ContentInit[], string])[] = [
  ['text', [text('a'), text('b')], 'a\nb'],
  [
    'a resource',
    [{ kind: { case: 'resource', value: { uri: 'f:/x', body: { case: 'text', value: 'hi' } } } }],
    '[f:/x]\nhi',
  ],
  [
    'a link',
    [{ kind: { case: 'resourceLink', value: { uri: 'f:/x', name: 'x', mimeType: 'text/csv' } } }],
    '[x, f:/x, text/csv]',
  ],
  ['bytes that it cannot read', [blob('application/zip')], '[blob:x, application/zip, 4 bytes, not shown]'],
  ['bytes that are gone', [blob('image/png', 'blob:y')], '[blob:y, image/png, 4 bytes, not shown]'],
  ['a sound, where it hears none', [blob('audio/wav')], '[blob:x, audio/wav, 4 bytes, not shown]'],
  ['nothing', [], ''],
];

describe('3.3: what a model reads of a result', () => {
  it.each(READ)('%s', (_, content, expected) => {
    const { output, behind } = resultOutput(result(content), traits, bytes);
    expect(output).toEqual({ type: 'text', value: expected });
    expect(behind).toEqual([]);
  });

  it('3.4: of a text that is a blob, the beginning and where the rest is', () => {
    const long = new Map([['blob:x', new TextEncoder().encode('é'.repeat(MAX_INLINE_TEXT_BYTES))]]);
    const { output } = resultOutput(result([blob('text/plain; charset=utf-8')]), traits, long);
    const value = output.type === 'text' ? output.value : '';
    expect(value).toMatch(/^é+\n\n\[Cut: this is the beginning of 524288 bytes. The whole is blob:x.\]$/);
    expect(value.indexOf('\n')).toBe(TEXT_EXCERPT_BYTES / 2);
  });

  it('3.2: the structured value, where there is one, and the pictures beside it', () => {
    const structured = result([text('{"a":1}'), blob('image/png')], { structuredJson: '{"a":1}' });
    expect(resultOutput(structured, traits, new Map()).output).toEqual({ type: 'text', value: '{"a":1}' });
    expect(resultOutput(structured, traits, bytes).output).toMatchObject({
      type: 'content',
      value: [
        { type: 'text', text: '{"a":1}' },
        { type: 'file', mediaType: 'image/png' },
      ],
    });
  });

  it('an error in the form that the provider has for errors, or in words', () => {
    const failed = result([text('no')], { isError: true });
    expect(resultOutput(failed, traits, bytes).output).toEqual({ type: 'error-text', value: 'no' });
    expect(resultOutput(failed, chat, bytes).output).toEqual({ type: 'text', value: 'Error: no' });
  });

  it('pictures behind the results, where results are text', () => {
    const { output, behind } = resultOutput(result([text('look'), blob('image/png')]), chat, bytes);
    expect(output).toEqual({ type: 'text', value: 'look\n[1 attached in the next message]' });
    expect(behind).toMatchObject([{ type: 'file', mediaType: 'image/png' }]);
  });
});

describe.each(KINDS)('3.3: what %s is sent', (kind) => {
  it('of a picture is the picture', async () => {
    const conversation = readConversation('picture');
    const blobs = new Map<string, Uint8Array>();
    await using served = await serveProvider(kind, conversation.answers, { blobs });
    const spoken = await converse(served.models, modelOf(kind), conversation, blobs);
    expect(spoken.answers.map((each) => each.kind)).toEqual(['response', 'response']);
    const picture = conversation.answers[0]?.calls[0]?.result.image ?? 'none';
    const sent = JSON.stringify(served.server.requests[1]?.body);
    expect(sent).toContain(picture);
    // As media, not as text that happens to be base64.
    const asMedia = [
      `"data":"${picture}"`,
      `"image_url":"data:image/png;base64,${picture}"`,
      `"url":"data:image/png;base64,${picture}"`,
    ];
    expect(asMedia.filter((form) => sent.includes(form))).toHaveLength(1);
    expect(sent).toContain('The view:');
  });

  it('of an error says that it is one, and nothing is sent that is for people', async () => {
    const conversation = readConversation('parallel-calls');
    await using served = await serveProvider(kind, conversation.answers);
    await converse(served.models, modelOf(kind), conversation);
    const sent = JSON.stringify(served.server.requests[1]?.body);
    expect(sent).toMatch(
      /"is_error":true|"error":"Rome is closed\."|\{\\"error\\":\\"Rome is closed\.\\"\}|Error: Rome is closed\./,
    );
    expect(sent).toContain('sky');
    expect(sent).not.toContain('for-people');
  });
});
