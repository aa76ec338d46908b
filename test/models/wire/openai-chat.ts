import { z } from 'zod';
import { breaches, OPENAI_RULES, OPENAI_STRICT_RULES } from '../../schema/projection/schema-rules.ts';
import type { Answer } from './conversation.ts';
import type { Wire, WireEvent } from './server.ts';

/** https://platform.openai.com/docs/api-reference/chat/create */
const text = z.strictObject({ type: z.literal('text'), text: z.string().min(1) });
const imageUrl = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({ url: z.string().startsWith('data:image/'), detail: z.string().optional() }),
});
const toolCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string().regex(/^[\w-]{1,64}$/), arguments: z.string() }),
});
const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['system', 'developer']), content: z.string().min(1) }),
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string().min(1), z.array(z.union([text, imageUrl])).min(1)]),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    tool_calls: z.array(toolCall).min(1).optional(),
    reasoning_content: z.string().optional(),
  }),
  z.strictObject({ role: z.literal('tool'), tool_call_id: z.string(), content: z.string() }),
]);
const body = z.strictObject({
  model: z.string(),
  messages: z.array(message).min(1),
  stream: z.boolean().optional(),
  stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
  temperature: z.number().optional(),
  max_tokens: z.int().optional(),
  max_completion_tokens: z.int().optional(),
  tools: z
    .array(
      z.strictObject({
        type: z.literal('function'),
        function: z.strictObject({
          name: z.string().regex(/^[\w-]{1,64}$/),
          description: z.string().optional(),
          parameters: z.unknown(),
          strict: z.boolean().optional(),
        }),
      }),
    )
    .min(1)
    .optional(),
  tool_choice: z.unknown().optional(),
});

type Body = z.output<typeof body>;

export interface ChatWireOptions {
  /** Compatible servers show reasoning, and take ids of any length. */
  readonly compatible: boolean;
}

export function openAiChatWire({ compatible }: ChatWireOptions): Wire {
  return {
    check({ path, headers, body: given }) {
      if (path !== '/v1/chat/completions') return [`no such path: ${path}`];
      if (!compatible && !String(headers['authorization']).startsWith('Bearer '))
        return ['you did not provide an API key'];
      const parsed = body.safeParse(given);
      if (!parsed.success) return [z.prettifyError(parsed.error)];
      const maxIdChars = compatible ? Number.POSITIVE_INFINITY : 40;
      return [...conversationFaults(parsed.data, maxIdChars), ...toolFaults(parsed.data)];
    },
    wantsStream: ({ body: given }) => given['stream'] === true,
    events: (answer) => eventsOf(answer, compatible),
    terminator: 'data: [DONE]\n\n',
    whole: (answer) => ({
      ...envelope(answer, 'chat.completion'),
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: answer.text.join('') || null,
            ...(compatible && answer.reasoning ? { reasoning_content: answer.reasoning.text.join('') } : {}),
            ...(answer.calls.length === 0
              ? {}
              : {
                  tool_calls: answer.calls.map(({ id, name, arguments: pieces }) => ({
                    id,
                    type: 'function',
                    function: { name, arguments: pieces.join('') },
                  })),
                }),
          },
          finish_reason: FINISH[answer.finish],
        },
      ],
      usage: usage(answer),
    }),
    error: (_, message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
    errorEvent: (message) => ({
      data: { error: { message, type: 'server_error', param: null, code: 'overloaded' } },
    }),
  };
}

const FINISH = { stop: 'stop', calls: 'tool_calls', length: 'length', filter: 'content_filter' } as const;

function conversationFaults({ messages }: Body, maxIdChars: number): string[] {
  const faults: string[] = [];
  let owed: string[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!owed.includes(message.tool_call_id))
        faults.push(
          `messages[${at}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'`,
        );
      owed = owed.filter((id) => id !== message.tool_call_id);
      continue;
    }
    if (owed.length > 0)
      faults.push(`messages[${at}]: tool_call_ids did not have response messages: ${owed.join()}`);
    owed = [];
    if (message.role !== 'assistant') continue;
    owed = (message.tool_calls ?? []).map(({ id }) => id);
    if (new Set(owed).size < owed.length) faults.push(`messages[${at}]: duplicate tool call ids`);
    if (owed.some((id) => id.length > maxIdChars))
      faults.push(`messages[${at}]: string too long: tool_calls.id`);
    if (message.content === null && owed.length === 0)
      faults.push(`messages[${at}]: expected a string, got null`);
    for (const { function: called } of message.tool_calls ?? []) {
      if (!isJsonObject(called.arguments)) faults.push(`messages[${at}]: arguments are not valid JSON`);
    }
  }
  if (owed.length > 0) faults.push(`tool_call_ids did not have response messages: ${owed.join()}`);
  return faults;
}

function isJsonObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function toolFaults({ tools = [] }: Body): string[] {
  const names = tools.map((tool) => tool.function.name);
  return [
    ...(new Set(names).size < names.length ? ['duplicate function names'] : []),
    ...tools.flatMap(({ function: { name, parameters, strict } }) =>
      breaches(parameters, strict === true ? OPENAI_STRICT_RULES : OPENAI_RULES, `function '${name}'`),
    ),
  ];
}

function envelope({ id }: Answer, object: string): object {
  return { id, object, created: 1_700_000_000, model: 'gpt-test' };
}

function usage({ usage: { input, output, cached, reasoning } }: Answer): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function eventsOf(answer: Answer, compatible: boolean): WireEvent[] {
  const chunk = (delta: object, finish_reason: string | null = null): WireEvent => ({
    data: { ...envelope(answer, 'chat.completion.chunk'), choices: [{ index: 0, delta, finish_reason }] },
  });
  const calls = answer.calls.flatMap(({ id, name, arguments: pieces }, at) => {
    const index = answer.same_index ? 0 : at;
    const [first = '', ...rest] = pieces;
    return [
      { index, ...(id === '' ? {} : { id }), type: 'function', function: { name, arguments: first } },
      ...rest.map((more) => ({ index, function: { arguments: more } })),
    ];
  });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(compatible
      ? (answer.reasoning?.text ?? []).map((reasoning_content) => chunk({ reasoning_content }))
      : []),
    ...answer.text.map((content) => chunk({ content })),
    ...calls.map((call) => chunk({ tool_calls: [call] })),
    chunk({}, FINISH[answer.finish]),
    { data: { ...envelope(answer, 'chat.completion.chunk'), choices: [], usage: usage(answer) } },
  ];
}
