import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ToolHandler } from '../../gen/spindle/v1/tool_pb.ts';
import { SessionStartSchema } from '../../gen/spindle/v1/trigger_pb.ts';
import { ContextLevel } from '../../gen/spindle/v1/worker_service_pb.ts';
import { hello, TENANT } from '../engine/virtual.ts';
import { decisionDispatch, registryWorld } from './registry-world.ts';

const MODEL = 'anthropic/claude-haiku-4-5';
const START = { case: 'sessionStart', value: create(SessionStartSchema) } as const;

function binding(triggers: readonly string[], model?: string) {
  return { agentId: 'clerk', triggers: [...triggers], ...(model === undefined ? {} : { config: { model } }) };
}

const reserve = (world: ReturnType<typeof registryWorld>, trigger: string, last?: string, session = 's1') =>
  world.registry.reserveDecider(TENANT, 'clerk', trigger, session, last);

describe('what workers have bound of an agent', () => {
  it('is nothing where nobody has, and for another tenant', async () => {
    const world = registryWorld();
    await world.connect(hello('w', [], { agents: [binding(['tool.finished'])] }));
    expect(world.registry.binding(TENANT, 'other')).toBeUndefined();
    expect(world.registry.binding('other', 'clerk')).toBeUndefined();
  });

  it('is the triggers of all of them, and the configuration of the newest that has one', async () => {
    const world = registryWorld();
    await world.connect(hello('a', [], { agents: [binding(['tool.finished'], 'x/first')] }));
    await world.connect(hello('b', [], { agents: [binding(['client.messages'], 'x/second')] }));
    await world.connect(hello('c', [], { agents: [binding(['turn.finished'])] }));
    const bound = world.registry.binding(TENANT, 'clerk');
    expect([...(bound?.triggers ?? [])].toSorted()).toEqual([
      'client.messages',
      'tool.finished',
      'turn.finished',
    ]);
    expect(bound?.config?.model).toBe('x/second');
  });

  it('5.3, 6.3: still counts within the grace of a worker, and not after it', async () => {
    const world = registryWorld();
    const stream = await world.connect(hello('w', [], { agents: [binding(['tool.finished'], MODEL)] }));
    await stream.vanish();
    expect(world.registry.binding(TENANT, 'clerk')?.triggers).toEqual(new Set(['tool.finished']));
    expect(reserve(world, 'tool.finished')).toBeUndefined();
    world.heard.length = 0;
    await world.advance(30_000);
    expect(world.registry.binding(TENANT, 'clerk')).toBeUndefined();
    // Whoever waits for a decision has to look again.
    expect(world.heard).toContainEqual(['available', TENANT]);
  });

  it('keeps the configuration and drops the triggers of a worker that drains (5.9)', async () => {
    const world = registryWorld();
    const stream = await world.connect(hello('w', [], { agents: [binding(['tool.finished'], MODEL)] }));
    world.heard.length = 0;
    await stream.send({ case: 'drain', value: {} });
    const bound = world.registry.binding(TENANT, 'clerk');
    expect(bound?.triggers).toEqual(new Set());
    expect(bound?.config?.model).toBe(MODEL);
    expect(reserve(world, 'tool.finished')).toBeUndefined();
    expect(world.heard).toContainEqual(['available', TENANT]);
  });

  it('5.11: a process that comes back binds anew, and is not the newest for it', async () => {
    const world = registryWorld();
    const stream = await world.connect(hello('a', [], { agents: [binding(['tool.finished'], 'x/a')] }));
    await world.connect(hello('b', [], { agents: [binding([], 'x/b')] }));
    await stream.vanish();
    const resumeToken = stream.welcome?.resumeToken ?? '';
    const again = { streamNumber: 2, resumeToken, agents: [binding(['turn.finished'], 'x/a2')] };
    await world.connect(hello('a', [], again));
    const bound = world.registry.binding(TENANT, 'clerk');
    expect(bound?.triggers).toEqual(new Set(['turn.finished']));
    expect(bound?.config?.model).toBe('x/b');
  });
});

describe('a slot for a decision', () => {
  it('goes to a worker that wants the trigger, with the context that it asked for', async () => {
    const world = registryWorld();
    await world.connect(hello('a', ['work'], { workerName: 'a' }));
    await world.connect(
      hello('b', [], {
        workerName: 'b',
        agents: [{ ...binding(['tool.finished']), context: ContextLevel.FULL }],
      }),
    );
    expect(reserve(world, 'tool.finished')).toMatchObject({
      workerName: 'b',
      context: ContextLevel.FULL,
      leaseToken: expect.stringMatching(/\/s1$/),
    });
    const tool = world.registry.reserve(TENANT, 'work', 's1');
    const decision = reserve(world, 'tool.finished');
    expect(world.registry.contextOf(decision?.leaseToken ?? '')).toBe(ContextLevel.FULL);
    expect(world.registry.contextOf(tool?.leaseToken ?? '')).toBeUndefined();
    expect(reserve(world, 'client.messages')).toBeUndefined();
    await world.connect(hello('c', [], { agents: [binding(['client.messages'])] }));
    expect(reserve(world, 'client.messages')).toMatchObject({ context: ContextLevel.TRIGGER });
  });

  it('5.4: is one of those that tools have: together never more than max_in_flight', async () => {
    const world = registryWorld();
    await world.connect(
      hello('w', ['work'], { maxInFlight: 2, agents: [binding(['tool.finished', 'tool.execute'])] }),
    );
    const first = reserve(world, 'tool.finished');
    expect(world.registry.reserve(TENANT, 'work', 's2')).toBeDefined();
    expect(reserve(world, 'tool.finished')).toBeUndefined();
    expect(world.registry.reserve(TENANT, 'work', 's2')).toBeUndefined();
    world.registry.release(first?.leaseToken ?? '');
    expect(reserve(world, 'tool.execute')).toBeDefined();
    expect(reserve(world, 'tool.execute')).toBeUndefined();
  });

  it('5.4: takes none of the attempts that a tool may have at once', async () => {
    const world = registryWorld();
    const tools = [{ tool: { name: 'work' }, maxConcurrency: 1 }];
    await world.connect(hello('w', [], { tools, agents: [binding(['tool.execute'])] }));
    reserve(world, 'tool.execute');
    expect(world.registry.reserve(TENANT, 'work', 's2')).toBeDefined();
    expect(world.registry.reserve(TENANT, 'work', 's2')).toBeUndefined();
  });

  it('5.11: sticks to the worker that the session had, and else goes to the less loaded', async () => {
    const world = registryWorld();
    for (const name of ['a', 'b', 'c']) {
      await world.connect(hello(name, [], { maxInFlight: 2, agents: [binding(['tool.finished'])] }));
    }
    const first = reserve(world, 'tool.finished');
    expect(reserve(world, 'tool.finished', first?.instanceId)?.instanceId).toBe(first?.instanceId);
    // That one is full now.
    expect(reserve(world, 'tool.finished', first?.instanceId)?.instanceId).not.toBe(first?.instanceId);
    const rest = [1, 2, 3].map(() => reserve(world, 'tool.finished')?.instanceId);
    expect(new Set(rest)).not.toContain(first?.instanceId);
    expect(reserve(world, 'tool.finished')).toBeUndefined();
  });

  it('5.1: is there once the first heartbeat came, and the engine hears of it', async () => {
    const world = registryWorld();
    const stream = world.open();
    await stream.send({ case: 'hello', value: hello('w', [], { agents: [binding(['tool.finished'])] }) });
    expect(world.registry.binding(TENANT, 'clerk')).toBeDefined();
    expect(reserve(world, 'tool.finished')).toBeUndefined();
    world.heard.length = 0;
    await stream.heartbeat(0);
    expect(world.heard).toContainEqual(['available', TENANT]);
    expect(reserve(world, 'tool.finished')).toBeDefined();
  });

  it('carries the dispatch to the worker, and its answer back; then it is free', async () => {
    const world = registryWorld();
    const stream = await world.connect(
      hello('w', [], { maxInFlight: 1, agents: [binding(['session.start'])] }),
    );
    const { leaseToken = '' } = reserve(world, 'session.start') ?? {};
    world.registry.dispatch(leaseToken, decisionDispatch(START));
    await stream.heartbeat(0);
    expect(stream.dispatches()).toMatchObject([{ leaseToken, sequence: 1, decisionId: 'd1' }]);
    expect(reserve(world, 'session.start')).toBeUndefined();
    world.heard.length = 0;
    await stream.answer(leaseToken, { case: 'accept', value: {} });
    expect(world.heard).toMatchObject([
      ['answered', { tenant: TENANT }, { leaseToken, outcome: { case: 'accept' } }],
      ['available', TENANT],
    ]);
    expect(reserve(world, 'session.start')).toBeDefined();
  });

  it('4.3: comes back when the decision is rejected, and its session is left alone for a while', async () => {
    const world = registryWorld();
    const stream = await world.connect(hello('w', [], { agents: [binding(['session.start'])] }));
    const { leaseToken = '' } = reserve(world, 'session.start') ?? {};
    world.registry.dispatch(leaseToken, decisionDispatch(START));
    await stream.heartbeat(1, leaseToken);
    await stream.send({ case: 'reject', value: { leaseToken, reason: 'no' } });
    expect(reserve(world, 'session.start')).toBeUndefined();
    expect(reserve(world, 'session.start', undefined, 's2')).toBeDefined();
    await world.advance(1_000);
    expect(reserve(world, 'session.start')).toBeDefined();
  });
});

describe('a hello with agents', () => {
  it.each([
    ['an unknown trigger', [binding(['tool.finish'])]],
    ['a trigger twice', [binding(['turn.finished', 'turn.finished'])]],
    ['an agent twice', [binding([]), binding([])]],
    ['an agent without an id', [{ agentId: '' }]],
    ['an agent with a long id', [{ agentId: 'x'.repeat(129) }]],
    ['too many agents', Array.from({ length: 101 }, (_, index) => ({ agentId: `a${index}` }))],
    ['a large configuration', [{ agentId: 'a', config: { model: MODEL, system: 'x'.repeat(1_048_577) } }]],
    [
      'too many tools',
      [{ agentId: 'a', config: { model: MODEL, tools: Array.from({ length: 501 }, () => ({})) } }],
    ],
    ['an unknown required trigger', [{ agentId: 'a', config: { model: MODEL, requiredTriggers: ['x'] } }]],
  ])('5.12: is refused for %s', async (_, agents) => {
    const world = registryWorld();
    const stream = await world.connect(hello('w', [], { agents }));
    expect(stream.ended).toBe('protocol_error');
    expect(stream.welcome).toBeUndefined();
  });

  it('2.2: keeps a faulty tool of a configuration out, and no other, and says so', async () => {
    const world = registryWorld();
    const tools = [
      { name: 'good' },
      { name: 'bad', inputSchemaJson: '{"type":"array"}' },
      { name: 'good' },
      { name: 'call_tool', handler: ToolHandler.ENGINE },
      { name: 'engines', handler: ToolHandler.ENGINE },
    ];
    const stream = await world.connect(
      hello('w', [], { agents: [{ agentId: 'clerk', config: { model: MODEL, tools } }] }),
    );
    const config = world.registry.binding(TENANT, 'clerk')?.config;
    expect(config?.tools.map(({ name }) => name)).toEqual(['good']);
    expect(stream.welcome?.refusedTools).toMatchObject([
      { name: 'bad', reason: expect.stringContaining('agent clerk') },
      { name: 'good', reason: expect.stringContaining('twice') },
      { name: 'call_tool', reason: expect.stringContaining('reserved') },
      { name: 'engines', reason: expect.stringContaining('ENGINE') },
    ]);
  });
});

describe('a hello with tools', () => {
  it("4.11: has no tool of a name of the engine's own, whoever it says runs it", async () => {
    const world = registryWorld();
    const stream = await world.connect(
      hello('w', [{ name: 'submit_result', handler: ToolHandler.ENGINE }, { name: 'tool_search' }, 'mine']),
    );
    expect(stream.welcome?.refusedTools.map(({ name }) => name)).toEqual(['submit_result', 'tool_search']);
    expect(world.registry.served(TENANT).map(({ definition }) => definition.tool.name)).toEqual(['mine']);
  });
});

describe('deltas of a model call', () => {
  async function called() {
    const world = registryWorld();
    const stream = await world.connect(hello('w', [], { agents: [binding(['session.start'])] }));
    const { leaseToken = '' } = reserve(world, 'session.start') ?? {};
    world.registry.dispatch(leaseToken, decisionDispatch(START));
    await stream.heartbeat(0);
    world.heard.length = 0;
    const deltas = () => world.heard.flatMap((said) => (said[0] === 'modelDelta' ? [said[2].deltas] : []));
    return { world, stream, leaseToken, deltas };
  }
  const text = (value: string) => ({ callId: 'm', kind: { case: 'text' as const, value } });

  it('reach the engine from the holder of the lease alone, in order', async () => {
    const { world, stream, leaseToken, deltas } = await called();
    const other = await world.connect(hello('other', []));
    await other.send({ case: 'modelDelta', value: { leaseToken, deltas: [text('forged')] } });
    await stream.send({ case: 'modelDelta', value: { leaseToken: 'nobody', deltas: [text('lost')] } });
    expect(deltas()).toEqual([]);
    await stream.send({ case: 'modelDelta', value: { leaseToken, deltas: [text('a'), text('b')] } });
    expect(deltas()).toMatchObject([[{ kind: { value: 'a' } }, { kind: { value: 'b' } }]]);
  });

  it('are dropped once the lease has ended', async () => {
    const { world, stream, leaseToken, deltas } = await called();
    world.registry.stop(leaseToken, 1);
    await stream.send({ case: 'modelDelta', value: { leaseToken, deltas: [text('late')] } });
    expect(deltas()).toEqual([]);
  });

  it('are cut off where one frame holds too many or too much', async () => {
    const { stream, leaseToken, deltas } = await called();
    const many = Array.from({ length: 1_200 }, () => text('x'));
    const long = [text('x'.repeat(60_000)), text('x'.repeat(10_000))];
    await stream.send({ case: 'modelDelta', value: { leaseToken, deltas: many } });
    await stream.send({ case: 'modelDelta', value: { leaseToken, deltas: long } });
    expect(deltas().map(({ length }) => length)).toEqual([1_000, 1]);
  });
});
