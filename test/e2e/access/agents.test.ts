import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AgentConfigSchema } from '../../../gen/spindle/v1/agent_pb.ts';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import { SessionService } from '../../../gen/spindle/v1/session_service_pb.ts';
import { TurnInputSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { EngineOptions } from '../../../src/main.ts';
import { createScriptedModel, type Script } from '../../../src/models/scripted.ts';
import type { RawClient } from '../raw-client.ts';
import { textResult } from '../raw-worker.ts';
import { CLIENT, type GuardedEngine, openGuardedEngine, WORKER } from './guarded-engine.ts';

type Agent = MessageInitShape<typeof AgentConfigSchema>;

const text = { case: 'content', value: { kind: { case: 'text', value: { text: 'go' } } } } as const;
const INPUT = create(TurnInputSchema, {
  kind: { case: 'messages', value: { messages: [{ role: Role.USER, parts: [{ kind: text }] }] } },
});

/** An engine with an agent `clerk`, whose model answers as told, and what this model was offered. */
async function open(agent: Agent, answers: Script['answers'], more: EngineOptions = {}) {
  const scripted = createScriptedModel({ answers });
  const offered: string[][] = [];
  const guarded = await openGuardedEngine({
    agents: { clerk: { model: 'test/one', ...agent }, kid: { model: 'test/one' } },
    models: {
      test: {
        call(call) {
          offered.push(call.request.tools.map(({ name }) => name));
          return scripted.call(call);
        },
      },
    },
    ...more,
  });
  return { guarded, offered };
}

/** Serves both tools, answers whatever comes, and says which came. */
async function serveAll(guarded: GuardedEngine): Promise<string[]> {
  const served: string[] = [];
  const worker = await guarded.worker((await guarded.token(WORKER)).secret, [
    { name: 'read_order' },
    { name: 'wipe_orders' },
  ]);
  const answerAll = async (): Promise<void> => {
    for (;;) {
      const { leaseToken, execute } = await worker.work();
      served.push(execute.name);
      await worker.answer(leaseToken, textResult('done'));
    }
  };
  // It ends with its stream, when the test does.
  answerAll().catch(() => undefined);
  return served;
}

/** A turn with the clerk: how each call of it ended. */
async function turn(client: RawClient, agent?: Agent): Promise<string[]> {
  const { createSession, runTurn } = SessionService.method;
  const { session } = await client.call(createSession, {
    agentId: 'clerk',
    ...(agent && { agent: create(AgentConfigSchema, agent) }),
  });
  const stream = client.stream(runTurn, {
    turn: { sessionId: session?.sessionId ?? '', input: INPUT },
  });
  const ends: string[] = [];
  for (let over = false; !over; ) {
    const { update } = await stream.next();
    if (update?.kind.case !== 'event') continue;
    const { kind } = update.kind.value;
    over = kind.case === 'turnEnded';
    if (kind.case !== 'toolCallFinished') continue;
    const { outcome } = kind.value;
    ends.push(outcome.case === 'error' ? outcome.value.code : JSON.stringify(outcome.value));
  }
  return ends;
}

const WIPE = { calls: [{ name: 'wipe_orders', arguments: {} }] };
const READ = { calls: [{ name: 'read_order', arguments: {} }] };
const NARROW = { tools: ['read_*'] };

describe('an agent', () => {
  it('9.2: offers and calls in a turn only what whoever started it may call', async () => {
    const { guarded, offered } = await open({ useTools: ['*'] }, [WIPE, READ, 'no', WIPE, READ, 'yes']);
    await using _ = guarded;
    const served = await serveAll(guarded);
    const ends = await turn(guarded.client((await guarded.token(CLIENT, NARROW)).secret));
    expect([ends[0], ends[1]]).toEqual(['unknown_tool', expect.stringContaining('done')]);
    expect([served, offered]).toEqual([['read_order'], [['read_order'], ['read_order'], ['read_order']]]);
    await turn(guarded.client((await guarded.token(CLIENT)).secret));
    expect([served.slice(1), offered[3]]).toEqual([
      ['wipe_orders', 'read_order'],
      ['read_order', 'wipe_orders'],
    ]);
  });

  it('9.2, 6.8: finds and calls nothing else by the tools of the engine', async () => {
    const script = [
      { calls: [{ name: 'tool_search', arguments: { query: '' } }] },
      { calls: [{ name: 'call_tool', arguments: { name: 'wipe_orders', arguments: {} } }] },
      { calls: [{ name: 'call_tool', arguments: { name: 'read_order', arguments: {} } }] },
      'done',
    ];
    const { guarded } = await open({ useTools: ['*'], deferTools: {} }, script);
    await using _ = guarded;
    const served = await serveAll(guarded);
    const [search, wiped, read] = await turn(guarded.client((await guarded.token(CLIENT, NARROW)).secret));
    expect([search?.includes('read_order'), search?.includes('wipe')]).toEqual([true, false]);
    expect([wiped, read, served]).toEqual(['unknown_tool', expect.stringContaining('done'), ['read_order']]);
  });

  it('9.2, 6.10: starts only subagents that the credential names, which are held to its tools as well', async () => {
    const kid = { calls: [{ name: 'kid', arguments: { message: 'wipe' } }] };
    const subagents = [{ agentId: 'kid', description: 'helps' }];
    const script = [kid, 'no kid', kid, WIPE, 'the kid could not', 'done'];
    const { guarded, offered } = await open({ subagents }, script, {
      agents: {
        clerk: { model: 'test/one', subagents },
        kid: { model: 'test/one', useTools: ['*'] },
      },
      privilegedAgents: ['clerk'],
    });
    await using _ = guarded;
    const served = await serveAll(guarded);
    const alone = guarded.client((await guarded.token(CLIENT, { ...NARROW, agents: ['clerk'] })).secret);
    expect(await turn(alone)).toEqual(['unknown_tool']);
    const both = guarded.client((await guarded.token(CLIENT, NARROW)).secret);
    expect(await turn(both)).toEqual([expect.stringContaining('the kid could not')]);
    expect([served, offered]).toEqual([[], [[], [], ['kid'], ['read_order'], ['read_order'], ['kid']]]);
  });

  it('9.2: that the deployment calls privileged does what its callers may not, and they still may not', async () => {
    const { guarded } = await open({ useTools: ['*'] }, [WIPE, 'done', 'nothing'], {
      privilegedAgents: ['clerk'],
    });
    await using _ = guarded;
    const served = await serveAll(guarded);
    const client = guarded.client((await guarded.token(CLIENT, NARROW)).secret);
    expect(await turn(client)).toEqual([expect.stringContaining('done')]);
    expect(served).toEqual(['wipe_orders']);
    // A configuration of the session's own under the same name does not take the privilege with it.
    await expect(turn(client, { model: 'test/one', useTools: ['*'] })).rejects.toThrow('PERMISSION_DENIED');
  });

  it('9.2: of a worker is held to the same', async () => {
    const { guarded, offered } = await open({}, [WIPE, 'no']);
    await using _ = guarded;
    const served = await serveAll(guarded);
    await guarded.worker((await guarded.token(WORKER)).secret, [], {
      agents: [{ agentId: 'clerk', config: { model: 'test/one', useTools: ['*'] } }],
    });
    expect(await turn(guarded.client((await guarded.token(CLIENT, NARROW)).secret))).toEqual([
      'unknown_tool',
    ]);
    expect([served, offered[0]]).toEqual([[], ['read_order']]);
  });
});
