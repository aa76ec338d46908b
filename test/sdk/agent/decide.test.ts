import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DecisionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import { CancelReason, ContextLevel } from '../../../gen/spindle/v1/worker_service_pb.ts';
import {
  type AgentOptions,
  callModel,
  callTool,
  changedConfig,
  type DecisionContext,
  defineAgent,
  defineTool,
  done,
  endCall,
  rawJson,
  type ToolSource,
  userMessage,
} from '../../../src/sdk/worker/index.ts';
import { CALLS_MODEL, session, startAgents, toolCall } from './agent-world.ts';

const FINISHED = { case: 'toolFinished', value: { callId: 'c1', name: 'search', attempts: 1 } } as const;
const MESSAGES = { case: 'clientMessages', value: {} } as const;

const clerk = (options: Partial<AgentOptions> = {}) => defineAgent({ id: 'clerk', model: 'x/y', ...options });

const search = defineTool({
  name: 'search',
  description: 'Finds things.',
  schema: z.object({ words: z.string() }),
  execute: ({ words }) => `found ${words}`,
});

describe('what a worker binds of an agent', () => {
  it('is nothing but the configuration where it has neither tools nor handlers', async () => {
    const world = await startAgents(clerk({ system: 'Be brief.' }));
    expect(world.frames('hello')).toMatchObject([
      {
        agents: [
          {
            agentId: 'clerk',
            triggers: [],
            context: ContextLevel.TRIGGER,
            config: { model: 'x/y', system: 'Be brief.' },
          },
        ],
      },
    ]);
  });

  it('is the triggers of its handlers, and tool.execute for its tools', async () => {
    const world = await startAgents(
      clerk({ tools: [search], on: { 'turn.finished': () => undefined, 'client.action': () => undefined } }),
    );
    expect(world.frames('hello')).toMatchObject([
      {
        agents: [
          { triggers: ['client.action', 'tool.execute', 'turn.finished'], context: ContextLevel.FULL },
        ],
      },
    ]);
  });

  it('is what leads to a model call, where a function gives the tools', async () => {
    const world = await startAgents(clerk({ tools: () => [search] }));
    const task = await startAgents(clerk({ tools: () => [search], task: z.string() }));
    const triggers = [
      'client.messages',
      'tool.execute',
      'tool.finished',
      'subagent.finished',
      'interrupt.resumed',
    ];
    expect(world.frames('hello')).toMatchObject([{ agents: [{ triggers, config: { tools: [] } }] }]);
    expect(task.frames('hello')).toMatchObject([
      { agents: [{ triggers: expect.arrayContaining(['model.finished']) }] },
    ]);
  });
});

describe('a decision', () => {
  it.each([
    ['nothing', () => undefined],
    ['accept()', ({ accept }: DecisionContext) => accept()],
    ['the proposal', ({ proposal }: DecisionContext) => proposal],
    ['a promise of it', async ({ proposal }: DecisionContext) => proposal],
  ])('accepts the proposal by returning %s', async (_, handler) => {
    const world = await startAgents(clerk({ on: { 'tool.finished': handler as () => undefined } }));
    expect(await world.ask(FINISHED, { ...session(), ...CALLS_MODEL })).toMatchObject({ case: 'accept' });
  });

  it('changes the proposal by returning it with other members', async () => {
    const agent = clerk({
      on: {
        'tool.finished': ({ trigger, proposal, state, config, stateVersion }) => ({
          ...proposal,
          messages: [...proposal.messages, userMessage('Be brief.')],
          state: { ...(state as object), last: trigger.name },
          expectedStateVersion: stateVersion,
          config: changedConfig(config, { model: 'x/better', maxIterations: 3 }),
        }),
      },
    });
    const world = await startAgents(agent);
    const context = { stateJson: '{"first":1}', stateVersion: 4, agent: { model: 'x/y', system: 'Hello' } };
    const outcome = await world.ask(FINISHED, { ...session(context), ...CALLS_MODEL });
    expect(outcome).toMatchObject({
      case: 'decision',
      value: {
        messages: [
          { role: Role.USER, parts: [{ kind: { value: { kind: { value: { text: 'Be brief.' } } } } }] },
        ],
        actions: [{ kind: { case: 'modelCall' } }],
        stateJson: '{"first":1,"last":"search"}',
        expectedStateVersion: 4,
        agent: { model: 'x/better', maxIterations: 3, system: 'Hello' },
      },
    });
  });

  it('keeps what it does not change as it came, kinds of a newer contract included', async () => {
    const agent = clerk({
      on: { 'tool.finished': ({ proposal }) => ({ ...proposal, state: rawJson('1e400') }) },
    });
    const world = await startAgents(agent);
    // A field that this version does not know.
    const unknown = [{ no: 1000, wireType: 0, data: Uint8Array.of(1) }];
    const proposed = create(DecisionSchema, { actions: [{ $unknown: unknown }] as never });
    const outcome = await world.ask(FINISHED, { ...session(), proposed });
    expect(outcome).toMatchObject({
      case: 'decision',
      value: { stateJson: '1e400', actions: [{ kind: {} }] },
    });
  });

  it('can start with nothing of the proposal', async () => {
    const agent = clerk({
      on: {
        'client.action': ({ trigger }) => ({ actions: [callTool('refund', { of: trigger.name }), done(1)] }),
      },
    });
    const world = await startAgents(agent);
    const outcome = await world.ask({ case: 'clientAction', value: { name: 'order-1' } }, session());
    expect(outcome).toMatchObject({
      value: {
        messages: [],
        actions: [
          { kind: { case: 'toolCall', value: { name: 'refund', arguments: '{"of":"order-1"}' } } },
          { kind: { case: 'done', value: { outputJson: '1' } } },
        ],
      },
    });
  });

  it('knows its session, and the conversation where that was asked for', async () => {
    const seen: unknown[] = [];
    const agent = clerk({
      on: {
        'turn.finished': ({ sessionId, turnId, agentId, decisionId, messages, calls, ancestry, caller }) => {
          seen.push({ sessionId, turnId, agentId, decisionId, messages, calls, ancestry, caller });
        },
      },
    });
    const world = await startAgents(agent);
    const context = session({
      messages: [userMessage('Hi')],
      calls: [{ callId: 'c1' }],
      ancestry: ['parent'],
    });
    await world.ask(
      { case: 'turnFinished', value: { turnId: 't1' } },
      { ...context, caller: { subject: 'somebody' } },
    );
    expect(seen).toMatchObject([
      {
        sessionId: 's1',
        turnId: 't1',
        agentId: 'clerk',
        decisionId: 'decision-1',
        messages: [{ role: Role.USER }],
        calls: [{ callId: 'c1' }],
        ancestry: ['parent'],
        caller: { subject: 'somebody' },
      },
    ]);
  });

  it('whose handler throws is given back, and told of, and leaves nothing held (5.13)', async () => {
    const agent = clerk({
      on: {
        'tool.finished': () => {
          throw new Error('no database');
        },
      },
    });
    const world = await startAgents(agent);
    const leaseToken = await world.dispatch(FINISHED, session());
    expect(world.outcome(leaseToken)).toBeUndefined();
    expect(world.frames('reject')).toMatchObject([
      { leaseToken, reason: expect.stringContaining('no database'), retryAfter: { seconds: 1n } },
    ]);
    expect(world.statuses).toContainEqual({
      kind: 'decision_failed',
      decisionId: 'decision-1',
      agentId: 'clerk',
      trigger: 'tool.finished',
      reason: 'the handler of the agent clerk failed: no database',
    });
    world.clock.advance(10_000);
    await world.settle();
    expect(world.frames('heartbeat').at(-1)).toMatchObject({ receivedThrough: 1, held: [] });
  });

  it.each([
    ['a misspelt member', { action: [] }, /no option "action": did you mean actions/],
    ['what is no action', { actions: [{ kind: 'modelCall' }] }, /actions\[0\] is no action/],
    ['what is no message', { messages: ['Hi'] }, /messages\[0\] is no message/],
    ['what is no configuration', { config: { model: 'x/y' } }, /config is no configuration/],
    ['a state that is no JSON', { state: { at: Number.NaN } }, /`state` cannot be JSON: \/at is NaN/],
    ['something else', 'go on', /returns a decision/],
  ])('that is %s fails like a handler that throws', async (_, returned, reason) => {
    const world = await startAgents(
      clerk({ on: { 'tool.finished': (() => returned) as unknown as () => undefined } }),
    );
    await world.dispatch(FINISHED, session());
    expect(world.frames('reject')).toMatchObject([{ reason: expect.stringMatching(reason) }]);
  });

  it('says what to set where a handler reads what was not sent', async () => {
    const world = await startAgents(
      clerk({ context: 'trigger', on: { 'tool.finished': ({ state }) => ({ state: state ?? null }) } }),
    );
    await world.dispatch(FINISHED);
    expect(world.frames('reject')).toMatchObject([
      { reason: expect.stringContaining("set context: 'state' in its definition") },
    ]);
  });

  it('4.10: that nobody waits for any more is stopped, and says so', async () => {
    const agent = clerk({
      on: {
        'tool.finished': ({ signal }) =>
          new Promise<undefined>((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          ),
      },
    });
    const world = await startAgents(agent);
    const leaseToken = await world.dispatch(FINISHED, session());
    world.send({ case: 'cancel', value: { leaseToken, reason: CancelReason.SUPERSEDED } });
    await world.settle();
    expect(world.outcome(leaseToken)).toMatchObject({ case: 'cancelled' });
  });

  it('4.4: that goes on after its grace is told of by its trigger', async () => {
    const world = await startAgents(
      clerk({ on: { 'tool.finished': () => new Promise<undefined>(() => undefined) } }),
    );
    const leaseToken = await world.dispatch(FINISHED, session());
    world.send({ case: 'cancel', value: { leaseToken } });
    world.clock.advance(10_000);
    expect(world.statuses).toContainEqual({
      kind: 'decider_stuck',
      decisionId: 'decision-1',
      agentId: 'clerk',
      trigger: 'tool.finished',
    });
  });

  it('is not made for another agent, nor about another trigger', async () => {
    const world = await startAgents(clerk({ on: { 'tool.finished': () => undefined } }));
    await world.dispatch(MESSAGES, session());
    await world.dispatch(FINISHED, session(), 'somebody');
    expect(world.frames('reject')).toMatchObject([
      { reason: 'the worker does not decide about client.messages of the agent clerk' },
      { reason: 'the worker does not decide about tool.finished of the agent somebody' },
    ]);
  });
});

describe('the tools of an agent', () => {
  it('4.11: run like those that a worker offers', async () => {
    const world = await startAgents(clerk({ tools: [search] }));
    expect(await world.ask(toolCall('search', '{"words":"keys"}'), { proposed: undefined })).toEqual({
      case: 'valueJson',
      value: '"found keys"',
    });
    expect(await world.ask(toolCall('search', '{}'))).toMatchObject({
      case: 'error',
      value: { code: 'invalid_arguments' },
    });
    await world.dispatch(toolCall('other'));
    expect(world.frames('reject')).toMatchObject([
      { reason: 'the worker does not serve other of the agent clerk' },
    ]);
  });

  it('6.3: are given anew before each model call, and an equal set changes nothing', async () => {
    const asked: unknown[] = [];
    const tools: ToolSource = ({ state, iteration, messages, config }) => {
      asked.push({ state, iteration, messages: messages.length, tools: config.tools.length });
      return state === 'locked' ? [] : [search];
    };
    const world = await startAgents(clerk({ tools }));
    const agent = { model: 'x/y', tools: [search.definition] };
    const first = await world.ask(MESSAGES, { ...session(), ...CALLS_MODEL });
    expect(first).toMatchObject({ case: 'decision', value: { agent: { tools: [{ name: 'search' }] } } });
    const messages = [userMessage('Hi'), { role: Role.ASSISTANT }, { role: Role.TOOL }];
    expect(await world.ask(FINISHED, { ...session({ agent, messages }), ...CALLS_MODEL })).toMatchObject({
      case: 'accept',
    });
    const locked = session({ agent, stateJson: '"locked"' });
    expect(await world.ask(FINISHED, { ...locked, ...CALLS_MODEL })).toMatchObject({
      case: 'decision',
      value: { agent: { model: 'x/y', tools: [] }, actions: [{ kind: { case: 'modelCall' } }] },
    });
    expect(asked).toEqual([
      { state: undefined, iteration: 1, messages: 0, tools: 0 },
      { state: undefined, iteration: 2, messages: 3, tools: 1 },
      { state: 'locked', iteration: 1, messages: 0, tools: 1 },
    ]);
  });

  it('are not asked for where no model call follows', async () => {
    const world = await startAgents(
      clerk({
        tools: () => {
          throw new Error('nobody asked');
        },
      }),
    );
    expect(await world.ask(FINISHED, session())).toMatchObject({ case: 'accept' });
  });

  it('see the session as the decision of a handler leaves it', async () => {
    const seen: unknown[] = [];
    const agent = clerk({
      tools: async ({ state, messages, config }) => {
        seen.push({ state, messages: messages.length, model: config.model });
        return [search];
      },
      on: {
        'client.action': ({ config }) => ({
          state: { open: true },
          messages: [userMessage('Go on.')],
          config: changedConfig(config, { model: 'x/other' }),
          actions: [callModel()],
        }),
      },
    });
    const world = await startAgents(agent);
    const outcome = await world.ask({ case: 'clientAction', value: { name: 'go' } }, session());
    expect(seen).toEqual([{ state: { open: true }, messages: 1, model: 'x/other' }]);
    expect(outcome).toMatchObject({ value: { agent: { model: 'x/other', tools: [{ name: 'search' }] } } });
  });

  it('run where a function gives them, also in a process that was never asked before', async () => {
    const tools: ToolSource = ({ state }) => [
      defineTool({ name: 'who', description: 'Says who.', execute: () => `it is ${String(state)}` }),
    ];
    const world = await startAgents(clerk({ tools }));
    expect(await world.ask(toolCall('who'), session({ stateJson: '"me"' }))).toEqual({
      case: 'valueJson',
      value: '"it is me"',
    });
    expect(await world.ask(toolCall('gone'), session())).toMatchObject({
      case: 'error',
      value: { code: 'unknown_tool' },
    });
  });

  it('5.12: a handler of tool.execute takes the calls that no tool serves, and may change the state', async () => {
    const agent = clerk({
      tools: [search],
      on: {
        'tool.execute': ({ trigger, proposal }) => {
          if (trigger.name === 'fails') throw new Error('broken');
          if (trigger.name === 'echo') return { actions: [endCall('', trigger.arguments)] };
          return trigger.name === 'count' ? { actions: [done()], state: 1 } : proposal;
        },
      },
    });
    const world = await startAgents(agent);
    expect(await world.ask(toolCall('search', '{"words":"x"}'), session())).toMatchObject({
      case: 'valueJson',
    });
    expect(await world.ask(toolCall('count'), session())).toMatchObject({
      case: 'decision',
      value: { stateJson: '1' },
    });
    // What ends the call alone is answered like a tool.
    expect(await world.ask(toolCall('echo'), session())).toMatchObject({
      case: 'result',
      value: { structuredJson: '"{}"' },
    });
    expect(await world.ask(toolCall('fails'), session())).toMatchObject({ value: { message: 'broken' } });
    expect(await world.ask(toolCall('idle'), session())).toMatchObject({
      case: 'error',
      value: { message: expect.stringContaining('returned nothing') },
    });
    const proposed = { actions: [{ kind: { case: 'toolError' as const, value: {} } }] };
    expect(await world.ask(toolCall('idle'), { ...session(), proposed })).toMatchObject({ case: 'accept' });
  });
});
