import { z } from 'zod';
import { breaches, OPENAI_RULES, OPENAI_STRICT_RULES } from '../../schema/projection/schema-rules.ts';
import type { Answer } from './conversation.ts';
import type { Wire, WireEvent } from './server.ts';

/** https://platform.openai.com/docs/api-reference/responses/create */
const inputText = z.strictObject({ type: z.literal('input_text'), text: z.string().min(1) });
const inputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: z.string().startsWith('data:image/'),
  detail: z.string().optional(),
});
const item = z.union([
  z.strictObject({ role: z.enum(['system', 'developer']), content: z.string().min(1) }),
  z.strictObject({ role: z.literal('user'), content: z.array(z.union([inputText, inputImage])).min(1) }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([
      z.string(),
      z.array(z.strictObject({ type: z.literal('output_text'), text: z.string() })),
    ]),
  }),
  z.strictObject({
    type: z.literal('function_call'),
    call_id: z.string().min(1).max(64),
    name: z.string().regex(/^[\w-]{1,64}$/),
    namespace: z.string().optional(),
    arguments: z.string(),
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    call_id: z.string(),
    output: z.union([z.string(), z.array(z.union([inputText, inputImage]))]),
  }),
  z.strictObject({
    type: z.literal('reasoning'),
    id: z.string(),
    encrypted_content: z.string(),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
  }),
]);
const functionTool = z.strictObject({
  type: z.literal('function'),
  name: z.string().regex(/^[\w-]{1,64}$/),
  description: z.string().optional(),
  parameters: z.unknown(),
  strict: z.boolean(),
});
const namespaceTool = z.strictObject({
  type: z.literal('namespace'),
  name: z.string().regex(/^[\w-]{1,64}$/),
  description: z.string(),
  tools: z.array(functionTool).min(1),
});
const body = z.strictObject({
  model: z.string(),
  input: z.array(item).min(1),
  stream: z.boolean().optional(),
  store: z.literal(false),
  include: z.array(z.string()).optional(),
  temperature: z.number().optional(),
  max_output_tokens: z.int().optional(),
  reasoning: z.unknown().optional(),
  tools: z
    .array(z.union([functionTool, namespaceTool]))
    .min(1)
    .optional(),
  tool_choice: z.unknown().optional(),
});

type Body = z.output<typeof body>;

export function openAiResponsesWire(): Wire {
  const issued = new Map<string, string>();
  return {
    check({ path, headers, body: given }) {
      if (path !== '/v1/responses') return [`no such path: ${path}`];
      if (!String(headers['authorization']).startsWith('Bearer ')) return ['you did not provide an API key'];
      const parsed = body.safeParse(given);
      if (!parsed.success) return [z.prettifyError(parsed.error)];
      return [...conversationFaults(parsed.data, issued), ...toolFaults(parsed.data)];
    },
    wantsStream: ({ body: given }) => given['stream'] === true,
    events(answer) {
      if (answer.reasoning) issued.set(answer.reasoning.signature, answer.reasoning.text.join(''));
      return eventsOf(answer);
    },
    terminator: '',
    whole(answer) {
      if (answer.reasoning) issued.set(answer.reasoning.signature, answer.reasoning.text.join(''));
      return response(answer, outputOf(answer));
    },
    error: (_, message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
    errorEvent: (message) => ({
      event: 'error',
      data: { type: 'error', code: 'server_is_overloaded', message, param: null, sequence_number: 9 },
    }),
  };
}

function conversationFaults({ input }: Body, issued: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  const calls = input
    .filter((entry) => 'type' in entry && entry.type === 'function_call')
    .map(({ call_id }) => call_id);
  const outputs = input
    .filter((entry) => 'type' in entry && entry.type === 'function_call_output')
    .map(({ call_id }) => call_id);
  for (const id of calls)
    if (!outputs.includes(id)) faults.push(`No tool output found for function call ${id}.`);
  for (const id of outputs)
    if (!calls.includes(id)) faults.push(`No tool call found for function call output with call_id ${id}.`);
  for (const ids of [calls, outputs]) if (new Set(ids).size < ids.length) faults.push('Duplicate call_id.');
  for (const [at, entry] of input.entries()) {
    if (!('type' in entry)) continue;
    if (entry.type === 'function_call' && !isJson(entry.arguments))
      faults.push(`input[${at}]: arguments are not JSON`);
    if (entry.type !== 'reasoning') continue;
    if (issued.get(entry.encrypted_content) !== entry.summary.map((part) => part.text).join('')) {
      faults.push(`input[${at}]: the encrypted content could not be verified`);
    }
    const next = input[at + 1];
    const answers =
      next !== undefined &&
      (('role' in next && next.role === 'assistant') || ('type' in next && next.type === 'function_call'));
    if (!answers)
      faults.push(`Item '${entry.id}' of type 'reasoning' was provided without its required following item.`);
  }
  return faults;
}

function isJson(json: string): boolean {
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}

function toolFaults({ tools = [] }: Body): string[] {
  const functions = tools.flatMap((tool) => (tool.type === 'namespace' ? tool.tools : [tool]));
  const names = functions.map(({ name }) => name);
  return [
    ...(new Set(names).size < names.length ? ['duplicate function names'] : []),
    ...functions.flatMap(({ name, parameters, strict }) =>
      breaches(parameters, strict ? OPENAI_STRICT_RULES : OPENAI_RULES, `function '${name}'`),
    ),
  ];
}

function response(answer: Answer, output: readonly object[], status?: string): object {
  const { usage } = answer;
  const whole = { stop: 'completed', calls: 'completed', length: 'incomplete', filter: 'incomplete' }[
    answer.finish
  ];
  const reason = { stop: undefined, calls: undefined, length: 'max_output_tokens', filter: 'content_filter' }[
    answer.finish
  ];
  return {
    id: answer.id,
    object: 'response',
    created_at: 1_700_000_000,
    status: status ?? whole,
    error: null,
    incomplete_details: reason === undefined || status !== undefined ? null : { reason },
    model: 'gpt-test',
    output,
    usage:
      status === undefined
        ? {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: usage.cached },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: usage.reasoning },
            total_tokens: usage.input + usage.output,
          }
        : null,
  };
}

function outputOf({ reasoning, text, calls }: Answer): object[] {
  return [
    ...(reasoning ? [reasoningItem(reasoning.text, reasoning.signature)] : []),
    ...(text.length > 0 ? [messageItem(text.join(''))] : []),
    ...calls.map(({ id, name, arguments: pieces }, at) => callItem(at, id, name, pieces.join(''))),
  ];
}

function reasoningItem(texts: readonly string[], encrypted_content: string | null): object {
  const summary = encrypted_content === null ? [] : [{ type: 'summary_text', text: texts.join('') }];
  return { id: 'rs_1', type: 'reasoning', summary, encrypted_content: encrypted_content ?? '' };
}

function messageItem(said: string): object {
  return {
    id: 'msg_1',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: said, annotations: [], logprobs: [] }],
  };
}

function callItem(at: number, call_id: string, name: string, args: string): object {
  return { id: `fc_${at}`, type: 'function_call', status: 'completed', call_id, name, arguments: args };
}

function eventsOf(answer: Answer): WireEvent[] {
  const events: WireEvent[] = [];
  const send = (type: string, fields: object): void => {
    events.push({ event: type, data: { type, sequence_number: events.length, ...fields } });
  };
  send('response.created', { response: response(answer, [], 'in_progress') });
  send('response.in_progress', { response: response(answer, [], 'in_progress') });
  let output_index = 0;
  const { reasoning, text, calls } = answer;
  if (reasoning) {
    send('response.output_item.added', { output_index, item: reasoningItem([], null) });
    send('response.reasoning_summary_part.added', {
      item_id: 'rs_1',
      output_index,
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    });
    for (const delta of reasoning.text)
      send('response.reasoning_summary_text.delta', {
        item_id: 'rs_1',
        output_index,
        summary_index: 0,
        delta,
      });
    send('response.reasoning_summary_part.done', {
      item_id: 'rs_1',
      output_index,
      summary_index: 0,
      part: { type: 'summary_text', text: reasoning.text.join('') },
    });
    send('response.output_item.done', {
      output_index,
      item: reasoningItem(reasoning.text, reasoning.signature),
    });
    output_index += 1;
  }
  if (text.length > 0) {
    send('response.output_item.added', {
      output_index,
      item: { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    });
    send('response.content_part.added', {
      item_id: 'msg_1',
      output_index,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    });
    for (const delta of text)
      send('response.output_text.delta', {
        item_id: 'msg_1',
        output_index,
        content_index: 0,
        delta,
        logprobs: [],
      });
    send('response.output_text.done', {
      item_id: 'msg_1',
      output_index,
      content_index: 0,
      text: text.join(''),
    });
    send('response.output_item.done', { output_index, item: messageItem(text.join('')) });
    output_index += 1;
  }
  for (const [at, { id, name, arguments: pieces }] of calls.entries()) {
    send('response.output_item.added', {
      output_index,
      item: { ...callItem(at, id, name, ''), status: 'in_progress' },
    });
    for (const delta of pieces)
      send('response.function_call_arguments.delta', { item_id: `fc_${at}`, output_index, delta });
    send('response.function_call_arguments.done', {
      item_id: `fc_${at}`,
      output_index,
      arguments: pieces.join(''),
    });
    send('response.output_item.done', { output_index, item: callItem(at, id, name, pieces.join('')) });
    output_index += 1;
  }
  const end =
    answer.finish === 'stop' || answer.finish === 'calls' ? 'response.completed' : 'response.incomplete';
  send(end, { response: response(answer, outputOf(answer)) });
  return events;
}
