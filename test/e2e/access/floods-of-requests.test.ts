import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import { SessionService } from '../../../gen/spindle/v1/session_service_pb.ts';
import { TurnInputSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { LimitSettingsSchema } from '../../../src/access/settings.ts';
import type { EngineOptions } from '../../../src/main.ts';
import { createScriptedModel } from '../../../src/models/scripted.ts';
import { temporaryDirectory } from '../../journal/temporary-directory.ts';
import { method, openClient, type RawClient, type Refused, refusedOf } from '../raw-client.ts';
import { CLIENT, type GuardedEngine, OPERATOR, openGuardedEngine } from './guarded-engine.ts';

const { createSession, deleteSession, startTurn, runTurn, cancelTurn, listSessions } = SessionService.method;

const text = { case: 'content', value: { kind: { case: 'text', value: { text: 'go' } } } } as const;
const INPUT = create(TurnInputSchema, {
  kind: { case: 'messages', value: { messages: [{ role: Role.USER, parts: [{ kind: text }] }] } },
});

/** A model that never answers: its turns run as long as the test. */
const SILENT = { call: () => new Promise<never>(() => undefined) };

const limited = (limits: object, more: EngineOptions = {}): Promise<GuardedEngine> =>
  openGuardedEngine({
    limits: LimitSettingsSchema.parse(limits),
    agents: { quiet: { model: 'silent/one' } },
    models: { silent: SILENT },
    ...more,
  });

/** How many of many requests at the same time were let in; all others have to be refused for the limit. */
async function letIn(ends: readonly Promise<Refused | undefined>[], limit: string): Promise<number> {
  const refusals = (await Promise.all(ends)).filter((end) => end !== undefined);
  expect(new Set(refusals.map(({ code, metadata }) => `${code} ${metadata['limit']}`))).toEqual(
    new Set(refusals.length === 0 ? [] : [`RESOURCE_EXHAUSTED ${limit}`]),
  );
  return ends.length - refusals.length;
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const end = (answer: Promise<Refused>): Promise<Refused | undefined> =>
  answer.catch((error: Error) => {
    if (error.message.endsWith('was not refused')) return undefined;
    throw error;
  });

const startCalls = (client: RawClient, count: number, prefix: string) =>
  times(count, (index) =>
    end(client.refused(method.startCall, { call: { name: 't', callId: `${prefix}-${index}` } })),
  );

async function unfinishedCalls(client: RawClient): Promise<string[]> {
  const { calls } = await client.call(method.listCalls, { onlyUnfinished: true, pageSize: 100 });
  return calls.map(({ callId }) => callId);
}

describe('calls in flight', () => {
  it.each(['tenant', 'credential'])(
    '9.3: of a thousand at once, by gRPC and HTTP, a %s’s limit of ten lets in ten',
    async (of) => {
      await using guarded = await limited({ [of]: { calls_in_flight: 10 } });
      const { secret } = await guarded.token(CLIENT);
      const client = guarded.client(secret);
      const byHttp = async (callId: string): Promise<number> => {
        const answer = await fetch(`${guarded.engine.url}/spindle.v1.ToolService/StartCall`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
          body: JSON.stringify({ call: { name: 't', callId } }),
        });
        await answer.text();
        return answer.status;
      };
      const [byGrpc, ...statuses] = await Promise.all([
        letIn(startCalls(client, 900, 'grpc'), 'calls_in_flight'),
        ...times(100, (index) => byHttp(`http-${index}`)),
      ]);
      const admitted = byGrpc + statuses.filter((status) => status === 200).length;
      expect([admitted, statuses.filter((status) => status !== 200 && status !== 429)]).toEqual([10, []]);
      const running = await unfinishedCalls(client);
      expect(running).toHaveLength(10);
      for (const callId of running.slice(0, 3)) await client.call(method.cancelCall, { callId });
      expect(await letIn(startCalls(client, 300, 'again'), 'calls_in_flight')).toBe(3);
    },
  );

  it('9.3: on one stream are counted as those that come one by one', async () => {
    await using guarded = await limited({ credential: { calls_in_flight: 10 } });
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    const many = client.duplex(method.streamCalls);
    many.send({ calls: times(200, (index) => ({ name: 't', callId: `c-${index}`, allUpdates: true })) });
    let refusals = 0;
    while (refusals < 190)
      refusals += (await many.next()).updates.filter(({ kind }) => kind.case === 'refused').length;
    expect([refusals, (await unfinishedCalls(client)).length]).toEqual([190, 10]);
    many.cancel();
  });

  it('9.3, 7.2: are counted from the journal after a restart', async () => {
    const journal = `sqlite:${await temporaryDirectory()}/spindle.db`;
    const limits = { credential: { calls_in_flight: 10 } };
    let secret = '';
    {
      await using guarded = await limited(limits, { journal });
      secret = (await guarded.token(CLIENT)).secret;
      expect(await letIn(startCalls(guarded.client(secret), 1_000, 'first'), 'calls_in_flight')).toBe(10);
    }
    await using guarded = await limited(limits, { journal });
    const client = guarded.client(secret);
    expect(await letIn(startCalls(client, 100, 'second'), 'calls_in_flight')).toBe(0);
    const [callId = ''] = await unfinishedCalls(client);
    await client.call(method.cancelCall, { callId });
    expect(await letIn(startCalls(client, 100, 'third'), 'calls_in_flight')).toBe(1);
  });

  it('9.3: turns are among them, started or run, and free again when they end', async () => {
    await using guarded = await limited({ tenant: { calls_in_flight: 10 } });
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    const sessionIds = times(60, (index) => `s-${index}`);
    await Promise.all(
      sessionIds.map((sessionId) => client.call(createSession, { sessionId, agentId: 'quiet' })),
    );
    const run = (sessionId: string): Promise<Refused | undefined> => {
      const stream = client.stream(runTurn, { turn: { sessionId, input: INPUT, turnId: 'one' } });
      return Promise.race([stream.next().then(() => undefined), stream.status.then(refusedOf)]).catch(() =>
        stream.status.then(refusedOf),
      );
    };
    const start = (sessionId: string) =>
      end(client.refused(startTurn, { sessionId, input: INPUT, turnId: 'one' }));
    const ends = sessionIds.map((sessionId, index) => (index % 2 === 0 ? run : start)(sessionId));
    expect(await letIn(ends, 'calls_in_flight')).toBe(10);
    expect(await letIn(startCalls(client, 20, 'calls'), 'calls_in_flight')).toBe(0);
    const { sessions } = await client.call(listSessions, { pageSize: 100 });
    const running = sessions.filter(({ runningTurnId }) => runningTurnId !== '');
    expect(running).toHaveLength(10);
    // The same turn again is no new one.
    for (const { sessionId } of running)
      await client.call(startTurn, { sessionId, input: INPUT, turnId: 'one' });
    for (const { sessionId } of running.slice(0, 2)) await client.call(cancelTurn, { sessionId });
    expect(await letIn(startCalls(client, 20, 'then'), 'calls_in_flight')).toBe(2);
  });
});

describe('sessions that are kept', () => {
  const createMany = (client: RawClient, count: number, prefix: string) =>
    times(count, (index) =>
      end(client.refused(createSession, { sessionId: `${prefix}-${index}`, agentId: 'quiet' })),
    );

  it('9.3: of many at once a tenant keeps no more than it may; a deleted one makes room', async () => {
    await using guarded = await limited({ tenant: { sessions: 10 } });
    const one = guarded.client((await guarded.token(CLIENT)).secret);
    const two = guarded.client((await guarded.token(CLIENT)).secret);
    const other = guarded.client((await guarded.token(CLIENT, { tenant: 'other' })).secret);
    const both = [...createMany(one, 150, 'a'), ...createMany(two, 150, 'b')];
    expect(await letIn(both, 'sessions')).toBe(10);
    expect(await letIn(createMany(other, 12, 'c'), 'sessions')).toBe(10);
    const refusal = await one.refused(createSession, { agentId: 'quiet' });
    expect(refusal.message).toContain('DeleteSession');
    const { sessions } = await one.call(listSessions, {});
    const [kept] = sessions;
    // One that is there already is no new one, and a direct call is none at all.
    await one.call(createSession, { sessionId: kept?.sessionId ?? '', agentId: 'quiet' });
    await one.call(method.startCall, { call: { name: 't' } });
    await one.call(deleteSession, { sessionId: kept?.sessionId ?? '' });
    expect(await letIn(createMany(one, 50, 'd'), 'sessions')).toBe(1);
  });

  it('9.3: the same session asked for many times is kept once', async () => {
    await using guarded = await limited({ credential: { sessions: 3 } });
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    for (const sessionId of ['a', 'b']) {
      const ends = times(20, () => end(client.refused(createSession, { sessionId, agentId: 'quiet' })));
      expect((await Promise.all(ends)).filter((refusal) => refusal === undefined)).not.toEqual([]);
    }
    expect(await letIn(createMany(client, 20, 'c'), 'sessions')).toBe(1);
  });

  it('9.3: are counted by subject, from the journal after a restart', async () => {
    const journal = `sqlite:${await temporaryDirectory()}/spindle.db`;
    const limits = { credential: { sessions: 5 } };
    const secrets: string[] = [];
    {
      await using guarded = await limited(limits, { journal });
      for (const subject of ['ann', 'ann', 'bob'])
        secrets.push((await guarded.token(CLIENT, { subject })).secret);
      const [ann = '', again = ''] = secrets;
      const both = [
        ...createMany(guarded.client(ann), 50, 'a'),
        ...createMany(guarded.client(again), 50, 'b'),
      ];
      expect(await letIn(both, 'sessions')).toBe(5);
    }
    await using guarded = await limited(limits, { journal });
    const [ann, , bob] = secrets.map((secret) => openClient(guarded.engine.address, { token: secret }));
    if (ann === undefined || bob === undefined) throw new Error('there are three tokens');
    expect(await letIn(createMany(ann, 20, 'c'), 'sessions')).toBe(0);
    expect(await letIn(createMany(bob, 20, 'd'), 'sessions')).toBe(5);
    const { sessions } = await ann.call(listSessions, {});
    await ann.call(deleteSession, { sessionId: sessions[0]?.sessionId ?? '' });
    expect(await letIn(createMany(ann, 20, 'e'), 'sessions')).toBe(1);
    for (const client of [ann, bob]) client.close();
  });

  it('9.3, 6.10: a subagent’s is one of them, and one too many fails the call that wants it', async () => {
    const script = createScriptedModel({
      answers: [
        { calls: [{ name: 'kid', arguments: { message: 'one' } }] },
        { text: 'from the kid' },
        { text: 'done' },
        { calls: [{ name: 'kid', arguments: { message: 'two' } }] },
        { text: 'without it' },
      ],
    });
    await using guarded = await limited(
      { tenant: { sessions: 2 } },
      {
        agents: {
          parent: {
            model: 'test/one',
            subagents: [{ agentId: 'kid', description: 'helps' }],
            retry: { base: { maxAttempts: 1 } },
          },
          kid: { model: 'test/one' },
        },
        models: { test: script },
      },
    );
    const client = guarded.client((await guarded.token(OPERATOR)).secret);
    await client.call(createSession, { sessionId: 'p', agentId: 'parent' });
    const turn = async (): Promise<string[]> => {
      const ends: string[] = [];
      const stream = client.stream(runTurn, { turn: { sessionId: 'p', input: INPUT } });
      for (let over = false; !over; ) {
        const { update } = await stream.next();
        if (update?.kind.case !== 'event') continue;
        const { kind } = update.kind.value;
        if (kind.case === 'toolCallFinished') ends.push(JSON.stringify(kind.value.outcome.value));
        over = kind.case === 'turnEnded';
      }
      return ends;
    };
    expect(await turn()).toEqual([expect.stringContaining('from the kid')]);
    expect(await turn()).toEqual([expect.stringContaining('the limit sessions of your tenant')]);
  });
});
