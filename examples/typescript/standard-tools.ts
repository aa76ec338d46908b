/**
 * The standard tools of docs/conformance.md on the SDK: spindle conformance -- node examples/typescript/standard-tools.ts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createWorker, defineTool, image, rawJson, ToolError, text } from 'spindle/worker';
import { z } from 'zod';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==';
const ANY_OBJECT = { type: 'object' } as const;

const echo = defineTool({
  name: 'echo',
  description: 'Answers its arguments as they came.',
  jsonSchema: ANY_OBJECT,
  // The text, not the value: reading it would change large numbers and spelling.
  execute: (_, { argumentsJson }) => rawJson(argumentsJson),
});

const add = defineTool({
  name: 'add',
  description: 'Adds two integers.',
  jsonSchema: {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'integer' } },
    required: ['a', 'b'],
    additionalProperties: false,
  },
  schema: z.object({ a: z.int(), b: z.int() }),
  outputSchema: { type: 'integer' },
  annotations: { readOnly: true },
  execute: ({ a, b }) => a + b,
});

const fail = defineTool({
  name: 'fail',
  description: 'Fails as it is told.',
  schema: z.object({ code: z.string().optional(), message: z.string(), retryable: z.boolean().optional() }),
  jsonSchema: {
    type: 'object',
    properties: { code: { type: 'string' }, message: { type: 'string' }, retryable: { type: 'boolean' } },
    required: ['message'],
  },
  execute({ message, code = 'tool_error', retryable = false }) {
    throw new ToolError(message, { code, retryable });
  },
});

const flaky = defineTool({
  name: 'flaky',
  description: 'Fails some attempts, then succeeds.',
  schema: z.object({ failures: z.int() }),
  jsonSchema: { type: 'object', properties: { failures: { type: 'integer' } }, required: ['failures'] },
  retry: { maxAttempts: 5, initialBackoffMs: 10 },
  execute({ failures }, { attempt }) {
    if (attempt <= failures)
      throw new ToolError(`attempt ${attempt} fails`, { code: 'flaky', retryable: true });
    return text(`attempt ${attempt}`);
  },
});

const slow = defineTool({
  name: 'slow',
  description: 'Waits.',
  schema: z.object({ ms: z.int() }),
  jsonSchema: { type: 'object', properties: { ms: { type: 'integer' } }, required: ['ms'] },
  async execute({ ms }, { signal }) {
    await sleep(ms, undefined, { signal });
    return text(`slept ${ms}`);
  },
});

const progress = defineTool({
  name: 'progress',
  description: 'Reports its steps.',
  schema: z.object({ steps: z.int() }),
  jsonSchema: { type: 'object', properties: { steps: { type: 'integer' } }, required: ['steps'] },
  async execute({ steps }, context) {
    for (let step = 1; step <= steps; step++) {
      context.progress({ completed: step, total: steps, activity: `step ${step}` });
      await sleep(5, undefined, { signal: context.signal });
    }
    return text('done');
  },
});

const defer = defineTool({
  name: 'defer',
  description: 'Leaves its call open.',
  schema: z.object({ timeout_ms: z.int().optional() }),
  jsonSchema: { type: 'object', properties: { timeout_ms: { type: 'integer' } } },
  execute: ({ timeout_ms: timeoutMs }, context) =>
    context.defer(timeoutMs === undefined ? {} : { timeoutMs }),
});

const picture = defineTool({
  name: 'image',
  description: 'Answers a picture.',
  jsonSchema: ANY_OBJECT,
  execute: () => image(Buffer.from(PIXEL, 'base64'), 'image/png'),
});

const big = defineTool({
  name: 'big',
  description: 'Answers as much text as it is told.',
  schema: z.object({ bytes: z.int() }),
  jsonSchema: { type: 'object', properties: { bytes: { type: 'integer' } }, required: ['bytes'] },
  execute: ({ bytes }) => text('x'.repeat(bytes)),
});

const crash = defineTool({
  name: 'crash',
  description: 'Breaks, as a bug would.',
  schema: z.object({ how: z.enum(['throw', 'exit']) }),
  jsonSchema: { type: 'object', properties: { how: { enum: ['throw', 'exit'] } }, required: ['how'] },
  execute({ how }) {
    if (how === 'exit') process.exit(70);
    throw new TypeError('a bug in the handler');
  },
});

const context = defineTool({
  name: 'context',
  description: 'Tells what its handler was given.',
  jsonSchema: ANY_OBJECT,
  execute: (_, { callId, attempt, traceContext }) => ({
    call_id: callId,
    attempt,
    traceparent: traceContext['traceparent'] ?? '',
  }),
});

await createWorker({
  address: process.env['SPINDLE_ADDRESS'] ?? '127.0.0.1:7433',
  name: 'standard-tools',
  tools: [echo, add, fail, flaky, slow, progress, defer, picture, big, crash, context],
}).run();
