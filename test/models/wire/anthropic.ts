import { z } from 'zod';
import { ANTHROPIC_RULES, ANTHROPIC_STRICT_RULES, breaches } from '../../schema/projection/schema-rules.ts';
import type { Answer } from './conversation.ts';
import type { Wire, WireEvent } from './server.ts';

/** https://docs.anthropic.com/en/api/messages */
const text = z.strictObject({
  type: z.literal('text'),
  text: z.string().regex(/\S/),
  cache_control: z.unknown().optional(),
});
const source = z.strictObject({
  type: z.literal('base64'),
  media_type: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf']),
  data: z.base64(),
});
const image = z.strictObject({ type: z.literal('image'), source });
const document = z.strictObject({ type: z.literal('document'), source });
const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.union([text, image, document]))]),
  is_error: z.boolean().optional(),
});
const toolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string().regex(/^[\w-]+$/),
  name: z.string().regex(/^[\w-]{1,128}$/),
  input: z.record(z.string(), z.unknown()),
});
const thinking = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() });
const message = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: z.array(z.union([text, image, document, toolResult])).min(1),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.array(z.union([text, toolUse, thinking])).min(1),
  }),
]);
const body = z.strictObject({
  model: z.string(),
  max_tokens: z.int().positive(),
  messages: z.array(message).min(1),
  system: z.array(text).optional(),
  stream: z.boolean().optional(),
  temperature: z.number().optional(),
  thinking: z.unknown().optional(),
  tools: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[\w-]{1,128}$/),
        description: z.string().optional(),
        input_schema: z.unknown(),
        strict: z.boolean().optional(),
        eager_input_streaming: z.boolean().optional(),
      }),
    )
    .optional(),
  tool_choice: z
    .strictObject({ type: z.enum(['auto', 'any', 'none', 'tool']), name: z.string().optional() })
    .optional(),
});

type Body = z.output<typeof body>;

const STOP_REASONS = {
  stop: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  filter: 'refusal',
} as const;

export function anthropicWire(): Wire {
  const signatures = new Map<string, string>();
  return {
    check({ path, headers, body: given }) {
      if (path !== '/v1/messages') return [`no such path: ${path}`];
      if (headers['x-api-key'] === undefined) return ['x-api-key header is required'];
      if (headers['anthropic-version'] === undefined) return ['anthropic-version header is required'];
      const parsed = body.safeParse(given);
      if (!parsed.success) return [z.prettifyError(parsed.error)];
      return [...conversationFaults(parsed.data, signatures), ...toolFaults(parsed.data)];
    },
    wantsStream: ({ body: given }) => given['stream'] === true,
    events(answer) {
      if (answer.reasoning) signatures.set(answer.reasoning.signature, answer.reasoning.text.join(''));
      return eventsOf(answer);
    },
    terminator: '',
    whole(answer) {
      if (answer.reasoning) signatures.set(answer.reasoning.signature, answer.reasoning.text.join(''));
      return {
        ...envelope(answer),
        content: [
          ...(answer.reasoning
            ? [
                {
                  type: 'thinking',
                  thinking: answer.reasoning.text.join(''),
                  signature: answer.reasoning.signature,
                },
              ]
            : []),
          ...(answer.text.length > 0 ? [{ type: 'text', text: answer.text.join('') }] : []),
          ...answer.calls.map(({ id, name, arguments: pieces }) => ({
            type: 'tool_use',
            id,
            name,
            input: JSON.parse(pieces.join('') || '{}'),
          })),
        ],
        stop_reason: STOP_REASONS[answer.finish],
        usage: usage(answer),
      };
    },
    error: (status, message) => ({
      type: 'error',
      error: { type: status === 429 ? 'rate_limit_error' : 'invalid_request_error', message },
    }),
    errorEvent: (message) => ({
      event: 'error',
      data: { type: 'error', error: { type: 'overloaded_error', message } },
    }),
  };
}

function conversationFaults({ messages, tools }: Body, signatures: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  if (messages[0]?.role !== 'user') faults.push('first message must use the "user" role');
  if (messages.at(-1)?.role !== 'user') faults.push('the conversation must end with a user message');
  const ids = new Set<string>();
  for (const [at, { role, content }] of messages.entries()) {
    if (messages[at - 1]?.role === role) faults.push(`messages.${at}: roles must alternate`);
    const results = content.filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id);
    const before = messages[at - 1];
    const called =
      before?.role === 'assistant'
        ? before.content.filter((block) => block.type === 'tool_use').map(({ id }) => id)
        : [];
    if (role === 'user') {
      for (const id of called)
        if (!results.includes(id))
          faults.push(
            `messages.${at}: tool_use ids were found without tool_result blocks immediately after: ${id}`,
          );
      for (const id of results)
        if (!called.includes(id))
          faults.push(`messages.${at}: unexpected tool_use_id found in tool_result blocks: ${id}`);
      if (new Set(results).size < results.length)
        faults.push(`messages.${at}: each tool_use must have a single result`);
      const lastResult = content.findLastIndex((block) => block.type === 'tool_result');
      if (content.slice(0, lastResult + 1).some((block) => block.type !== 'tool_result'))
        faults.push(`messages.${at}: tool_result blocks must come first`);
    }
    for (const block of content) {
      if (block.type === 'tool_use') {
        if (ids.has(block.id)) faults.push(`messages.${at}: tool_use ids must be unique`);
        ids.add(block.id);
      }
      if (block.type === 'thinking' && signatures.get(block.signature) !== block.thinking)
        faults.push(`messages.${at}: invalid signature in thinking block`);
    }
    if (role === 'assistant' && content.at(-1)?.type === 'thinking')
      faults.push('the final block in an assistant message cannot be thinking');
  }
  if (ids.size > 0 && tools === undefined)
    faults.push('requests which have tool_use or tool_result blocks must define tools');
  return faults;
}

function toolFaults({ tools = [] }: Body): string[] {
  const names = tools.map(({ name }) => name);
  return [
    ...(new Set(names).size < names.length ? ['tools: tool names must be unique'] : []),
    ...tools.flatMap(({ name, input_schema, strict }) =>
      breaches(input_schema, strict === true ? ANTHROPIC_STRICT_RULES : ANTHROPIC_RULES, `tools.${name}`),
    ),
  ];
}

function envelope({ id }: Answer): object {
  return { id, type: 'message', role: 'assistant', model: 'claude-test', stop_sequence: null };
}

function usage({ usage: { input, output, cached } }: Answer): object {
  return {
    input_tokens: input - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: output,
  };
}

function eventsOf(answer: Answer): WireEvent[] {
  const events: WireEvent[] = [];
  const send = (type: string, fields: object): number =>
    events.push({ event: type, data: { type, ...fields } });
  let index = 0;
  const block = (content_block: object, deltas: readonly object[]): void => {
    send('content_block_start', { index, content_block });
    for (const delta of deltas) send('content_block_delta', { index, delta });
    send('content_block_stop', { index });
    index += 1;
  };
  send('message_start', {
    message: {
      ...envelope(answer),
      content: [],
      stop_reason: null,
      usage: { ...usage(answer), output_tokens: 1 },
    },
  });
  send('ping', {});
  if (answer.reasoning) {
    block({ type: 'thinking', thinking: '', signature: '' }, [
      ...answer.reasoning.text.map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature: answer.reasoning.signature },
    ]);
  }
  if (answer.text.length > 0) {
    block(
      { type: 'text', text: '' },
      answer.text.map((piece) => ({ type: 'text_delta', text: piece })),
    );
  }
  for (const { id, name, arguments: pieces } of answer.calls) {
    block(
      { type: 'tool_use', id, name, input: {} },
      ['', ...pieces].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    );
  }
  send('message_delta', {
    delta: { stop_reason: STOP_REASONS[answer.finish], stop_sequence: null },
    usage: { output_tokens: answer.usage.output },
  });
  send('message_stop', {});
  return events;
}
