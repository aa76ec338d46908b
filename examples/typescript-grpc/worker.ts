/** The standard tools of docs/conformance.md, on the stream of worker-stream.ts. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import type { Dispatch } from '../../gen/spindle/v1/worker_service_pb.ts';
import { type Handling, type Outcome, serve, type WorkerOptions } from './worker-stream.ts';

type Run = (
  args: Record<string, unknown>,
  execute: ToolExecute,
  handling: Handling,
  dispatch: Dispatch,
) => Promise<Outcome>;

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==';

const text = (value: string): Outcome => ({
  case: 'result',
  value: { content: [{ kind: { case: 'text', value: { text: value } } }] },
});

const RUN: Readonly<Record<string, Run>> = {
  // The value goes back as it came: reading it would change numbers and spelling.
  echo: async (_, execute) => ({ case: 'valueJson', value: checkedText(execute) }),
  add: async ({ a, b }) => ({ case: 'valueJson', value: String(Number(a) + Number(b)) }),
  fail: async ({ message, code = 'tool_error', retryable = false }) => ({
    case: 'error',
    value: { message: String(message), code: String(code), retryable: retryable === true },
  }),
  flaky: async ({ failures }, { attempt }) =>
    attempt <= Number(failures)
      ? { case: 'error', value: { code: 'flaky', message: `attempt ${attempt} fails`, retryable: true } }
      : text(`attempt ${attempt}`),
  slow: async ({ ms }, _, { signal }) => {
    await sleep(Number(ms), undefined, { signal });
    return text(`slept ${ms}`);
  },
  progress: async ({ steps }, _, { progress, signal }) => {
    for (let step = 1; step <= Number(steps); step++) {
      progress({ completed: step, total: Number(steps), activity: `step ${step}` });
      await sleep(5, undefined, { signal });
    }
    return text('done');
  },
  defer: async ({ timeout_ms: timeout }) => ({
    case: 'toolDefer',
    value:
      timeout === undefined
        ? {}
        : {
            timeout: {
              seconds: BigInt(Math.floor(Number(timeout) / 1_000)),
              nanos: (Number(timeout) % 1_000) * 1_000_000,
            },
          },
  }),
  image: async () => ({
    case: 'result',
    value: {
      content: [
        { kind: { case: 'image', value: { data: Buffer.from(PIXEL, 'base64'), mimeType: 'image/png' } } },
      ],
    },
  }),
  big: async ({ bytes }) => text('x'.repeat(Number(bytes))),
  crash: async ({ how }) => {
    if (how === 'exit') process.exit(70);
    throw new TypeError('a bug in the handler');
  },
  context: async (_, { callId, attempt }, __, { traceContext }) => ({
    case: 'valueJson',
    value: JSON.stringify({ call_id: callId, attempt, traceparent: traceContext['traceparent'] ?? '' }),
  }),
};

/** What the engine found the arguments to be: the text as it came, unless a repair says otherwise (1.1). */
function checkedText({ arguments: given, input }: ToolExecute): string {
  const found = input?.status.case === 'valid' ? input.status.value.repairedJson : undefined;
  return found ?? given;
}

const integer = { type: 'integer' };
const string = { type: 'string' };
const object = (properties: object, required: readonly string[], more: object = {}): string =>
  JSON.stringify({ type: 'object', properties, ...(required.length > 0 ? { required } : {}), ...more });

const SCHEMAS: Readonly<Record<string, string>> = {
  echo: '{"type":"object"}',
  add: object({ a: integer, b: integer }, ['a', 'b'], { additionalProperties: false }),
  fail: object({ code: string, message: string, retryable: { type: 'boolean' } }, ['message']),
  flaky: object({ failures: integer }, ['failures']),
  slow: object({ ms: integer }, ['ms']),
  progress: object({ steps: integer }, ['steps']),
  defer: object({ timeout_ms: integer }, []),
  image: '{"type":"object"}',
  big: object({ bytes: integer }, ['bytes']),
  crash: object({ how: { enum: ['throw', 'exit'] } }, ['how']),
  context: '{"type":"object"}',
};

const tools: WorkerOptions['tools'] = Object.entries(SCHEMAS).map(([name, inputSchemaJson]) => ({
  tool: {
    name,
    description: `The standard tool ${name} of the conformance suite.`,
    inputSchemaJson,
    ...(name === 'add' ? { outputSchemaJson: '{"type":"integer"}', annotations: { readOnly: true } } : {}),
    ...(name === 'flaky'
      ? { retry: { maxAttempts: 5, initialBackoff: { seconds: 0n, nanos: 10_000_000 } } }
      : {}),
  },
}));

await serve({
  address: process.env['SPINDLE_ADDRESS'] ?? '127.0.0.1:7433',
  name: 'example-typescript',
  tools,
  maxInFlight: 16,
  async handle(dispatch, handling) {
    const execute = dispatch.trigger?.kind.case === 'toolExecute' ? dispatch.trigger.kind.value : undefined;
    const run = execute && RUN[execute.name];
    if (execute === undefined || run === undefined) throw new Error('this worker has no such tool');
    // Arguments that do not match: the engine proposes what the model should read (1.2).
    if (execute.input?.status.case !== 'valid') return { case: 'accept', value: {} };
    return await run(JSON.parse(checkedText(execute)), execute, handling, dispatch);
  },
});
