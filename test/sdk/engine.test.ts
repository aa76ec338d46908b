import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, type RunningEngine } from '../../src/main.ts';
import { type CallEvent, createClient, image, result, ToolError, text } from '../../src/sdk/index.ts';
import {
  createWorker,
  defineAgent,
  defineTool,
  type Tool,
  type WorkerOptions,
  type WorkerStatus,
} from '../../src/sdk/worker/index.ts';

let stops: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of stops.reverse()) await stop();
  stops = [];
});

/** A real engine in memory, a worker with these tools, and a client. */
async function system(tools: readonly Tool[], options: Partial<WorkerOptions> = {}) {
  const engine: RunningEngine = await createEngine({
    journal: 'memory:',
    listen: '127.0.0.1:0',
    http: false,
  });
  stops.push(() => engine.stop(0));
  const address = engine.grpcAddress;
  const worker = createWorker({ address, tools, signals: [], onStatus: () => undefined, ...options });
  const done = worker.run();
  stops.push(async () => {
    await worker.stop();
    await done;
  });
  await worker.ready;
  const client = createClient({ address });
  stops.push(() => client.close());
  return { engine, worker, client };
}

describe('the SDK and an engine', () => {
  it('a defined tool is called with its types, and its value comes back', async () => {
    const weather = defineTool({
      name: 'weather',
      description: 'The weather in a city.',
      schema: z.object({ city: z.string(), days: z.number().default(1) }),
      outputSchema: z.object({ celsius: z.number(), unit: z.string().default('c') }),
      execute: ({ city, days }) => ({ celsius: city.length + days }),
      describeCompletedActivity: ({ city }) => `Looked at ${city}`,
    });
    const { client } = await system([weather]);
    const answer = await client.call(weather, { city: 'Tokyo' });
    expect(answer).toMatchObject({
      ok: true,
      value: { celsius: 6, unit: 'c' },
      text: '{"celsius":6,"unit":"c"}',
      result: { activity: 'Looked at Tokyo' },
    });
    expect((await client.tools()).map(({ tool, workers }) => [tool?.name, workers])).toEqual([
      ['weather', 1],
    ]);
  });

  it('1.2: invalid and malformed arguments are answered with what a model would read', async () => {
    const weather = defineTool({
      name: 'weather',
      description: 'The weather in a city.',
      schema: z.object({ city: z.string() }),
      execute: () => 'never',
    });
    const { client } = await system([weather]);
    for (const args of [{ city: 3 }, { rawArguments: '{"city"' }]) {
      expect(await client.call('weather', args)).toMatchObject({
        ok: false,
        error: { code: 'invalid_arguments', retryable: false },
      });
    }
  });

  it('3.2: a string stays the string that it is, also where it looks like JSON', async () => {
    const code = defineTool({
      name: 'code',
      description: 'A code.',
      outputSchema: { type: 'string' },
      execute: () => '0021',
    });
    const { client } = await system([code]);
    expect(await client.call(code, {})).toMatchObject({ ok: true, value: '0021', text: '0021' });
  });

  it('3.3: a picture comes back as a reference to its bytes', async () => {
    const picture = defineTool({
      name: 'picture',
      description: 'A picture.',
      execute: () => result({ content: [text('here'), image(Uint8Array.of(1, 2, 3), 'image/png')] }),
    });
    const { client } = await system([picture]);
    const answer = await client.call(picture, {});
    const kinds = answer.ok ? answer.result.content.map(({ kind }) => kind) : [];
    expect(kinds).toMatchObject([{ case: 'text' }, { case: 'blob', value: { sizeBytes: 3n } }]);
    const uri = kinds[1]?.case === 'blob' ? kinds[1].value.uri : '';
    const bytes: number[] = [];
    for await (const chunk of client.readBlob(uri)) bytes.push(...chunk);
    expect(bytes).toEqual([1, 2, 3]);
  });

  it('4.2: a failure that says so is retried, under one idempotency key', async () => {
    const keys: string[] = [];
    const flaky = defineTool({
      name: 'flaky',
      description: 'Fails once.',
      retry: { maxAttempts: 2, initialBackoffMs: 1 },
      execute(_, { attempt, idempotencyKey }) {
        keys.push(idempotencyKey);
        if (attempt === 1) throw new ToolError('not yet', { retryable: true });
        return 'now';
      },
    });
    const { client } = await system([flaky]);
    expect(await client.call(flaky, {})).toMatchObject({ ok: true, attempts: 2, text: 'now' });
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it('4.9: a deferred call is settled from outside', async () => {
    const later = defineTool({ name: 'later', description: 'Later.', execute: (_, { defer }) => defer() });
    const { client } = await system([later]);
    const events: CallEvent[] = [];
    for await (const event of client.stream(later, {}, { callId: 'later-1' })) {
      events.push(event);
      if (event.kind === 'open') {
        expect(await client.settle('later-1', { result: { approved: true } })).toBe('recorded');
      }
    }
    expect(events.at(-1)).toMatchObject({
      kind: 'finished',
      result: { ok: true, value: { approved: true } },
    });
  });

  it('4.10: an abort that cancels reaches the handler', async () => {
    const aborted = Promise.withResolvers<unknown>();
    const patient = defineTool({
      name: 'patient',
      description: 'Waits.',
      execute: (_, { signal, progress }) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted.resolve(signal.reason);
            reject(signal.reason);
          });
          progress({ activity: 'Waiting' });
        }),
    });
    const { client } = await system([patient]);
    const controller = new AbortController();
    const wait = { callId: 'p', signal: controller.signal, onAbort: 'cancel' } as const;
    const reading = (async () => {
      for await (const event of client.stream(patient, {}, wait)) {
        if (event.kind === 'progress') controller.abort(new Error('never mind'));
      }
    })();
    await expect(reading).rejects.toThrow('never mind');
    expect(await aborted.promise).toMatchObject({ reason: 'cancelled' });
    const events: CallEvent[] = [];
    for await (const event of client.watch('p')) events.push(event);
    expect(events.at(-1)).toMatchObject({
      kind: 'finished',
      result: { ok: false, error: { code: 'cancelled' } },
    });
  });

  it('4.12: the same id joins the call, with other arguments it is refused', async () => {
    let runs = 0;
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<string>();
    const count = defineTool({
      name: 'count',
      description: 'Counts.',
      execute() {
        runs += 1;
        started.resolve();
        return finish.promise;
      },
    });
    const { client, engine } = await system([count]);
    await using other = createClient({ address: engine.grpcAddress });
    const first = client.call(count, { a: 1 }, { callId: 'c' });
    await started.promise;
    const joined = other.call(count, { a: 1 }, { callId: 'c' });
    await expect(other.call(count, { a: 2 }, { callId: 'c' })).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      reason: 'call_id_conflict',
    });
    finish.resolve('done');
    expect(await first).toMatchObject({ ok: true, text: 'done' });
    expect(await joined).toMatchObject({ ok: true, text: 'done' });
    // A call that has ended is joined as well.
    expect(await client.call(count, { a: 1 }, { callId: 'c' })).toMatchObject({ ok: true, text: 'done' });
    expect(runs).toBe(1);
  });

  it('5.9: a drain lets a running call finish', async () => {
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<string>();
    const slow = defineTool({
      name: 'slow',
      description: 'Slow.',
      execute() {
        started.resolve();
        return finish.promise;
      },
    });
    const { client, worker } = await system([slow]);
    const call = client.call(slow, {});
    await started.promise;
    const stopped = worker.stop();
    finish.resolve('done');
    expect(await call).toMatchObject({ ok: true, text: 'done' });
    await stopped;
  });

  it('one bad tool among others is reported, and the others serve', async () => {
    const good = defineTool({ name: 'good', description: 'Good.', execute: () => 'fine' });
    const bad = defineTool({
      name: 'bad',
      description: 'Bad.',
      jsonSchema: { type: 'nonsense' },
      execute: () => 'never',
    });
    const refused: string[] = [];
    const { client } = await system([bad, good], {
      onStatus(status) {
        if (status.kind === 'tools_refused') refused.push(...status.tools.map(({ name }) => name));
      },
    });
    expect(await client.call(good, {})).toMatchObject({ ok: true });
    expect(refused).toEqual(['bad']);
  });

  it('a thousand calls at once end, each with its own answer', async () => {
    const echo = defineTool<{ n: number }>({
      name: 'echo',
      description: 'Echo.',
      execute: ({ n }) => String(n),
    });
    const { client } = await system([echo], { maxInFlight: 64 });
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, async (_, n) => {
        const answer = await client.call(echo, { n });
        return answer.ok ? answer.text : answer.error.message;
      }),
    );
    expect(answers).toEqual(Array.from({ length: 1_000 }, (_, n) => String(n)));
  });
});

describe('agents of a worker, and an engine', () => {
  it('2.2: are taken, and a definition of theirs that the engine refuses keeps its tool out alone', async () => {
    const statuses: WorkerStatus[] = [];
    const bad = defineTool({
      name: 'bad',
      description: 'Has a schema that the engine does not know.',
      jsonSchema: { $schema: 'https://example.com/dialect', type: 'object' },
      execute: () => 'bad',
    });
    const good = defineTool({ name: 'good', description: 'Serves.', execute: () => 'good' });
    const agent = defineAgent({
      id: 'clerk',
      model: 'anthropic/claude-haiku-4-5',
      tools: [bad, good],
      on: { 'turn.finished': () => undefined },
    });
    await system([], { agents: [agent], onStatus: (status) => statuses.push(status) });
    expect(statuses).toMatchObject([
      { kind: 'connected' },
      { kind: 'tools_refused', tools: [{ name: 'bad', reason: expect.stringContaining('agent clerk') }] },
    ]);
  });
});
