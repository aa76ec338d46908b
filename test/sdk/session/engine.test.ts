import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine } from '../../../src/main.ts';
import {
  type Client,
  createClient,
  defineTool,
  type ModelReply,
  type ModelRequest,
  messageText,
  type TurnEvent,
} from '../../../src/sdk/index.ts';
import {
  type Agent,
  type AgentOptions,
  callModel,
  createWorker,
  defineAgent,
  type TaskOptions,
  type WorkerStatus,
} from '../../../src/sdk/worker/index.ts';
import { openCuttingProxy } from '../../e2e/chaos/cutting-proxy.ts';

let stops: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of stops.reverse()) await stop();
  stops = [];
});

/** A real engine in memory, a worker with these agents, and a client. */
async function system(
  ...agents: readonly Agent[]
): Promise<{ client: Client; statuses: WorkerStatus[]; address: string }> {
  const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: false });
  stops.push(() => engine.stop(0));
  const address = engine.grpcAddress;
  const statuses: WorkerStatus[] = [];
  const onStatus = (status: WorkerStatus): unknown => statuses.push(status);
  const worker = createWorker({ address, agents, signals: [], onStatus });
  const done = worker.run();
  stops.push(async () => {
    await worker.stop();
    await done;
  });
  await worker.ready;
  const client = createClient({ address });
  stops.push(() => client.close());
  return { client, statuses, address };
}

/** An agent whose model says, call by call, what a test writes down. */
function scripted<Task extends TaskOptions | undefined = undefined>(
  replies: readonly (ModelReply | ((request: ModelRequest) => ModelReply))[],
  options: Partial<AgentOptions<Task>> = {},
): Agent & { readonly asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  const agent = defineAgent<Task>({
    id: 'clerk',
    model: 'tests/script',
    onModelExecute: async ({ request }) => {
      const reply = replies[asked.length];
      asked.push(request);
      if (reply === undefined) throw new Error(`the script has no reply ${asked.length}`);
      return typeof reply === 'function' ? reply(request) : reply;
    },
    ...options,
  });
  return { ...agent, asked };
}

const calls = (name: string, args: Record<string, string | number> = {}, callId = 'a'): ModelReply => ({
  toolCalls: [{ callId, name, arguments: args }],
});

const search = defineTool({
  name: 'search',
  description: 'Finds things.',
  schema: z.object({ words: z.string() }),
  execute: ({ words }) => `found ${words}`,
});

async function collect(events: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> {
  const collected: TurnEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

describe('agents of the SDK, an engine, and its sessions', () => {
  it('6.1: a turn: input, model call, tool call, model call, answer', async () => {
    const agent = scripted([calls('search', { words: 'keys' }), { text: 'They are in the hall.' }], {
      system: 'Be brief.',
      tools: [search],
    });
    const { client } = await system(agent);
    const seen: TurnEvent[] = [];
    const result = await client.sessions.run('clerk', 'Where are my keys?', {
      onEvent: (event) => seen.push(event),
    });
    expect(result).toMatchObject({ ok: true, text: 'They are in the hall.', iterations: 2 });
    expect(agent.asked.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['search'], ['search']]);
    const sequences = seen.flatMap((event) => ('sequence' in event ? [event.sequence] : []));
    expect(sequences).toEqual(sequences.map((_, index) => (sequences[0] ?? 0) + index));
    expect(seen.map(({ kind }) => kind)).toContain('tool.call.finished');
    const { messages } = await client.sessions.get(result.sessionId, { messages: true });
    expect(messages.map(({ role }) => role)).toEqual([2, 3, 4, 3]);
    const { result: again } = await client.sessions.getTurn(result.sessionId, result.turnId);
    expect(again).toMatchObject({ ok: true, text: 'They are in the hall.' });
  });

  it("parts of a worker's model are seen as they come", async () => {
    const gate = Promise.withResolvers<void>();
    const agent = defineAgent({
      id: 'clerk',
      model: 'tests/script',
      async *onModelExecute() {
        yield 'Hel';
        await gate.promise;
        yield 'lo.';
      },
    });
    const { client } = await system(agent);
    const { sessionId } = await client.sessions.create('clerk');
    const texts: string[] = [];
    let last: TurnEvent | undefined;
    for await (const event of client.sessions.runTurn(sessionId, 'Hi')) {
      last = event;
      if (event.kind !== 'text') continue;
      texts.push(event.text);
      gate.resolve();
    }
    expect(texts).toEqual(['Hel', 'lo.']);
    expect(last).toMatchObject({ kind: 'turn.ended', data: { outcome: { case: 'finished' } } });
  });

  it('a handler changes the state, the messages and what comes next', async () => {
    const agent = scripted([calls('search', { words: 'x' }), { text: 'Done.' }], {
      tools: [search],
      on: {
        'tool.finished': ({ trigger, proposal, state }) => ({
          ...proposal,
          state: { before: state ?? null, last: trigger.name },
        }),
        'client.action': ({ trigger }) => ({ actions: trigger.name === 'go' ? [callModel()] : [] }),
      },
    });
    const { client, statuses } = await system(agent);
    const { sessionId } = await client.sessions.create('clerk');
    const events = await collect(client.sessions.runTurn(sessionId, { action: 'go' }));
    expect(events.at(-1)).toMatchObject({ kind: 'turn.ended', data: { outcome: { case: 'finished' } } });
    expect((await client.sessions.get(sessionId)).state).toEqual({ before: null, last: 'search' });
    expect(statuses.map(({ kind }) => kind)).toEqual(['connected']);
  });

  it('5.13: a handler that fails is asked again', async () => {
    let tries = 0;
    const agent = scripted([{ text: 'Hello.' }], {
      on: {
        'client.messages': ({ proposal }) => {
          tries += 1;
          if (tries === 1) throw new Error('not yet');
          return { ...proposal, state: tries };
        },
      },
    });
    const { client, statuses } = await system(agent);
    const result = await client.sessions.run('clerk', 'Hi');
    expect(result).toMatchObject({ ok: true, text: 'Hello.' });
    expect(statuses).toContainEqual(expect.objectContaining({ kind: 'decision_failed' }));
    expect((await client.sessions.get(result.sessionId)).state).toBe(2);
  });

  it('6.16: a decision that breaks a rule is told to its author, with the reason', async () => {
    let tries = 0;
    const agent = scripted([{ text: 'Hello.' }], {
      on: {
        'client.messages': ({ proposal, stateVersion }) => {
          tries += 1;
          return { ...proposal, state: 1, expectedStateVersion: stateVersion + (tries === 1 ? 5 : 0) };
        },
      },
    });
    const { client, statuses } = await system(agent);
    expect(await client.sessions.run('clerk', 'Hi')).toMatchObject({ ok: true });
    expect(statuses).toContainEqual(
      expect.objectContaining({
        kind: 'decision_refused',
        agentId: 'clerk',
        trigger: 'client.messages',
        reason: expect.stringContaining('version'),
      }),
    );
  });

  it('6.3: a function gives the tools of each model call, and runs them', async () => {
    const iterations: number[] = [];
    const agent = scripted([calls('who'), { text: 'Bye.' }], {
      tools: ({ iteration }) => {
        iterations.push(iteration);
        if (iteration > 1) return [];
        return [defineTool({ name: 'who', description: 'Says who.', execute: () => 'me' })];
      },
    });
    const { client } = await system(agent);
    const { sessionId } = await client.sessions.create('clerk');
    const events = await collect(client.sessions.runTurn(sessionId, 'Hi'));
    expect(agent.asked.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['who'], []]);
    // For the first model call, for the call that it made, and for the second model call.
    expect(iterations).toEqual([1, 1, 2]);
    const ended = events.find(({ kind }) => kind === 'tool.call.finished');
    expect(ended).toMatchObject({ data: { outcome: { case: 'result' } } });
  });

  it('6.9: the client runs its tools, beside each other', async () => {
    const agent = scripted([
      {
        toolCalls: [calls('where', {}, 'a'), calls('where', {}, 'b')].flatMap(
          ({ toolCalls = [] }) => toolCalls,
        ),
      },
      ({ messages }) => ({ text: `${messages.length} messages` }),
    ]);
    const where = defineTool({ name: 'where', description: 'Where the user is.', execute: () => 'Tokyo' });
    const { client } = await system(agent);
    const result = await client.sessions.run('clerk', 'Where am I?', { clientTools: [where] });
    expect(result).toMatchObject({ ok: true, text: '4 messages' });
    const [, second] = agent.asked;
    expect(second?.messages.slice(2).flatMap(({ parts }) => parts)).toMatchObject([
      { kind: { case: 'toolResult', value: { outcome: { case: 'result' } } } },
      { kind: { case: 'toolResult', value: { outcome: { case: 'result' } } } },
    ]);
  });

  it.each([
    ['resumed', { resume: { yes: true } }, 'result'],
    ['denied', { deny: 'Too much.' }, 'error'],
  ] as const)('6.11: a call that waits for a person is %s by the client', async (_, answer, outcome) => {
    const agent = scripted([calls('search', { words: 'x' }), { text: 'Well.' }], {
      tools: [search],
      approval: { names: ['search'] },
    });
    const { client } = await system(agent);
    const { sessionId } = await client.sessions.create('clerk');
    const events = await collect(client.sessions.runTurn(sessionId, 'Hi', { onInterrupt: () => answer }));
    expect(events.at(-1)?.kind).toBe('turn.ended');
    expect(events.find(({ kind }) => kind === 'tool.call.finished')).toMatchObject({
      data: { outcome: { case: outcome } },
    });
  });

  it('6.11: a turn pauses where nobody answers, and runs on under its id', async () => {
    const agent = scripted([calls('search', { words: 'x' }), { text: 'Well.' }], {
      tools: [search],
      approval: { names: ['search'] },
    });
    const { client } = await system(agent);
    const paused = await client.sessions.run('clerk', 'Hi');
    expect(paused).toMatchObject({ ok: false, status: 'paused', openItems: [{ name: 'search' }] });
    const { sessionId, turnId } = paused;
    const [item] = 'openItems' in paused ? paused.openItems : [];
    const waiting: string[] = [];
    for await (const session of client.sessions.list({ onlyWaiting: true })) waiting.push(session.sessionId);
    expect(waiting).toEqual([sessionId]);
    expect(await client.sessions.resume(sessionId, item?.id ?? '', { resume: undefined })).toBe(true);
    expect(await client.sessions.resume(sessionId, item?.id ?? '', { resume: undefined })).toBe(false);
    expect(await client.sessions.run('clerk', 'Hi', { sessionId, turnId })).toMatchObject({
      ok: true,
      text: 'Well.',
    });
    expect(agent.asked).toHaveLength(2);
  });

  it('6.12: a task ends the turn with its value', async () => {
    const task = z.object({ celsius: z.number() });
    const agent = scripted(
      [
        calls('submit_result', {}, 'a'),
        { toolCalls: [{ name: 'submit_result', arguments: { result: { celsius: 21 } } }] },
      ],
      { task },
    );
    const { client } = await system(agent);
    const result = await client.sessions.run(agent, 'How warm is it?');
    expect(result).toMatchObject({ ok: true, output: { celsius: 21 } });
    expect(agent.asked).toHaveLength(2);
  });

  it('4.10: a turn is cancelled, and its model with it', async () => {
    const stopped = Promise.withResolvers<unknown>();
    const agent = defineAgent({
      id: 'clerk',
      model: 'tests/script',
      onModelExecute: ({ signal }) =>
        new Promise<string>((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped.resolve(signal.reason);
            reject(signal.reason);
          });
        }),
    });
    const { client } = await system(agent);
    const { sessionId } = await client.sessions.create('clerk');
    const { turnId } = await client.sessions.startTurn(sessionId, 'Hi');
    for await (const event of client.sessions.watch(sessionId)) {
      if (event.kind === 'model.call.requested')
        await client.sessions.cancel(sessionId, { reason: 'enough' });
      if (event.kind === 'turn.ended') break;
    }
    expect(await stopped.promise).toMatchObject({ name: 'AbortError' });
    expect(await client.sessions.getTurn(sessionId, turnId)).toMatchObject({
      result: { ok: false, status: 'cancelled' },
    });
    await client.sessions.delete(sessionId);
    await expect(client.sessions.get(sessionId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('a turn whose connection is cut again and again is told whole, in order, and run once', async () => {
    const rounds = 12;
    const agent = scripted(
      Array.from({ length: rounds + 1 }, (_, round) =>
        round < rounds ? calls('search', { words: `word ${round}` }, `call-${round}`) : { text: 'Done.' },
      ),
      { tools: [search], maxIterations: rounds + 1 },
    );
    const { client, address } = await system(agent);
    await using proxy = await openCuttingProxy(address);
    await using cut = createClient({ address: proxy.address });
    const { sessionId } = await client.sessions.create('clerk');
    const sequences: number[] = [];
    let last: TurnEvent | undefined;
    for await (const event of cut.sessions.runTurn(sessionId, 'Hi')) {
      last = event;
      if ('sequence' in event) sequences.push(event.sequence);
      if (event.kind === 'tool.call.requested') proxy.cut(0);
    }
    expect(last?.kind).toBe('turn.ended');
    expect(proxy.cuts).toBeGreaterThan(1);
    expect(sequences).toEqual(sequences.map((_, index) => (sequences[0] ?? 0) + index));
    expect(agent.asked).toHaveLength(rounds + 1);
    const { session } = await client.sessions.get(sessionId);
    expect(sequences.at(-1)).toBe(session.lastSequence);
  });

  it('6.10: an agent calls another one', async () => {
    const writer = scripted([({ messages }) => ({ text: `About ${messages.map(messageText).at(-1)}.` })], {
      id: 'writer',
    });
    const clerk = scripted([calls('writer', { message: 'cats' }), { text: 'Here you are.' }], {
      subagents: [{ agent: writer, description: 'Writes.' }],
    });
    const { client } = await system(clerk, writer);
    const seen: TurnEvent[] = [];
    const result = await client.sessions.run('clerk', 'Write.', { onEvent: (event) => seen.push(event) });
    expect(result).toMatchObject({ ok: true, text: 'Here you are.' });
    expect(seen.find(({ kind }) => kind === 'tool.call.finished')).toMatchObject({
      data: {
        outcome: { case: 'result', value: { content: [{ kind: { value: { text: 'About cats.' } } }] } },
      },
    });
  });
});
