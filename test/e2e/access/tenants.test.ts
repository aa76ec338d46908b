import { hash } from 'node:crypto';
import type { DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AccessService } from '../../../gen/spindle/v1/access_service_pb.ts';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import { ToolResultSchema } from '../../../gen/spindle/v1/result_pb.ts';
import { SessionService } from '../../../gen/spindle/v1/session_service_pb.ts';
import { TurnInputSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { GoAwayReason } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { method, type RawClient, type Refused } from '../raw-client.ts';
import { connectWorker, reconnect, textResult } from '../raw-worker.ts';
import { endOf, SERVED_METHODS } from './every-method.ts';
import { CLIENT, type GuardedEngine, OPERATOR, openGuardedEngine, WORKER } from './guarded-engine.ts';

/** A provider that never answers: a turn that asks it runs for as long as the test. */
const SILENT_PROVIDER = {
  kind: 'openai-compatible',
  baseUrl: 'http://127.0.0.1:1',
  apiKeyEnv: undefined,
  readApiKey: () => undefined,
  headers: {},
  streaming: false,
  timeoutMs: undefined,
} as const;

/** Everything of one tenant that has an id. */
interface Belongings {
  readonly callId: string;
  readonly interruptedCallId: string;
  readonly interruptId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly blobUri: string;
  readonly tokenId: string;
  readonly callPage: string;
  readonly sessionPage: string;
}

const SAID = { case: 'content', value: { kind: { case: 'text', value: { text: 'hi' } } } } as const;
const INPUT = create(TurnInputSchema, {
  kind: { case: 'messages', value: { messages: [{ role: Role.USER, parts: [{ kind: SAID }] }] } },
});
const PICTURE = Buffer.from('a picture of the tenant');

async function furnish(guarded: GuardedEngine, tenant: string): Promise<Belongings> {
  const token = await guarded.token(OPERATOR, { tenant, subject: 'ann' });
  const client = guarded.client(token.secret);
  const worker = await guarded.worker((await guarded.token(WORKER, { tenant })).secret, [{ name: 't' }]);
  for (const callId of ['call-1', 'call-2', 'call-3'])
    await client.call(method.startCall, { call: { name: 't', callId } });
  const first = await worker.work('call-1');
  const image = { data: PICTURE, mimeType: 'image/png' };
  await worker.answer(first.leaseToken, {
    case: 'result',
    value: { content: [{ kind: { case: 'image', value: image } }] },
  });
  const second = await worker.work('call-2');
  await worker.answer(second.leaseToken, { case: 'interrupt', value: { reason: 'confirm' } });
  const service = SessionService.method;
  for (const sessionId of ['session-1', 'session-2'])
    await client.call(service.createSession, { sessionId, agentId: 'a', agent: { model: 'silent/m' } });
  await client.call(service.startTurn, {
    sessionId: 'session-1',
    turnId: 'turn-1',
    input: INPUT,
  });
  const { nextPageToken: callPage } = await client.call(method.listCalls, { pageSize: 1 });
  const { nextPageToken: sessionPage } = await client.call(service.listSessions, { pageSize: 1 });
  const watching = client.stream(method.watchCall, { callId: 'call-2' });
  const { update } = await watching.next();
  watching.cancel();
  const interruptId = update?.kind.case === 'interrupted' ? update.kind.value.interruptId : '';
  expect([interruptId, callPage, sessionPage].filter((id) => id === '')).toEqual([]);
  return {
    callId: 'call-1',
    interruptedCallId: 'call-2',
    interruptId,
    sessionId: 'session-1',
    turnId: 'turn-1',
    blobUri: `blob:sha256-${hash('sha256', PICTURE)}`,
    tokenId: token.id,
    callPage,
    sessionPage,
  };
}

type Shape = Readonly<Record<string, unknown>>;

/** A request for every method that names something, with the ids of its owner. */
function requestsFor(own: Belongings): ReadonlyMap<DescMethod, readonly Shape[]> {
  const { callId, interruptedCallId, interruptId, sessionId, turnId, blobUri, tokenId } = own;
  const session = SessionService.method;
  const result = { case: 'result', value: create(ToolResultSchema) } as const;
  const both = [{ callId }, { sessionId, callId }, { callId: interruptedCallId }];
  const request = <M extends DescMethod>(desc: M, ...shapes: MessageInitShape<M['input']>[]) =>
    [desc, shapes] as const;
  return new Map<DescMethod, readonly Shape[]>([
    request(method.getCall, ...both),
    request(method.watchCall, ...both),
    request(method.cancelCall, ...both),
    request(method.settleCall, ...both.map((ref) => ({ ...ref, outcome: result }))),
    request(method.readBlob, { uri: blobUri }),
    request(session.getSession, { sessionId }),
    request(session.startTurn, { sessionId, turnId, input: INPUT }),
    request(session.runTurn, { turn: { sessionId, turnId, input: INPUT } }),
    request(session.watchSession, { sessionId }),
    request(session.getTurn, { sessionId, turnId }),
    request(
      session.resumeInterrupt,
      { sessionId, interruptId },
      { sessionId: `call:${interruptedCallId}`, interruptId },
    ),
    request(session.cancelTurn, { sessionId, turnId }, { sessionId }),
    request(session.deleteSession, { sessionId }),
    request(AccessService.method.revokeToken, { tokenId }),
  ]);
}

/** What these name is made, and is the caller's own. */
const MAKING: ReadonlySet<DescMethod> = new Set<DescMethod>([
  method.callTool,
  method.streamCallTool,
  method.startCall,
  method.streamCalls,
  SessionService.method.createSession,
]);

const IDS = /^(call|session|turn|interrupt|token)_id$|^uri$/;

function namesSomething({ input }: DescMethod): boolean {
  const nested = input.fields.flatMap((field) => (field.fieldKind === 'message' ? field.message.fields : []));
  return [...input.fields, ...nested].some(({ name }) => IDS.test(name));
}

describe('another tenant', () => {
  it('9.3: every method that names something is tried', async () => {
    await using guarded = await openGuardedEngine({ providers: { silent: SILENT_PROVIDER } });
    const own = await furnish(guarded, 'acme');
    const tried = requestsFor(own);
    const naming = SERVED_METHODS.filter((served) => namesSomething(served) && !MAKING.has(served));
    expect(naming.filter((served) => !tried.has(served)).map(String)).toEqual([]);
    expect(tried.size).toBeGreaterThan(12);
  });

  it.each([
    ['a client', CLIENT],
    ['an operator', OPERATOR],
    ['a worker', WORKER],
  ])('9.3: finds nothing by any id, as %s: as if it were not there', async (_who, role) => {
    await using guarded = await openGuardedEngine({ providers: { silent: SILENT_PROVIDER } });
    const own = await furnish(guarded, 'acme');
    const { secret: token } = await guarded.token(role, { tenant: 'other', subject: 'ann' });
    await expectHidden(guarded, token, requestsFor(own));
    // And nothing has happened to them.
    const ann = guarded.client((await guarded.token(OPERATOR, { subject: 'ann' })).secret);
    expect(
      (await ann.call(SessionService.method.getSession, { sessionId: own.sessionId })).session?.runningTurnId,
    ).toBe('turn-1');
    expect((await ann.call(method.listCalls, {})).calls).toHaveLength(3);
    const { tokens } = await ann.call(AccessService.method.listTokens, {});
    expect(tokens.filter(({ revokedAt }) => revokedAt !== undefined)).toEqual([]);
  });

  it('9.3: is another subject to a client as well, in the same tenant', async () => {
    await using guarded = await openGuardedEngine({ providers: { silent: SILENT_PROVIDER } });
    const own = await furnish(guarded, 'acme');
    const { secret: token } = await guarded.token(CLIENT, { subject: 'bob' });
    // What is stored is the tenant's: whoever knows a digest knows the content.
    const subjects = [...requestsFor(own)].filter(([served]) => served !== method.readBlob);
    await expectHidden(guarded, token, subjects);
    const bob = guarded.client(token);
    const call = { name: 't', callId: own.callId };
    expect((await bob.refused(method.callTool, call)).reason).toBe('call_id_conflict');
    expect((await bob.refused(method.startCall, { call })).reason).toBe('call_id_conflict');
    const session = { sessionId: own.sessionId, agentId: 'a', agent: { model: 'silent/m' } };
    expect((await bob.refused(SessionService.method.createSession, session)).reason).toBe(
      'session_id_conflict',
    );
  });

  it('9.3: lists, finds and pages through nothing of it', async () => {
    await using guarded = await openGuardedEngine({ providers: { silent: SILENT_PROVIDER } });
    const own = await furnish(guarded, 'acme');
    const client = guarded.client(
      (await guarded.token(OPERATOR, { tenant: 'other', subject: 'ann' })).secret,
    );
    expect((await client.call(method.listTools, {})).tools).toEqual([]);
    expect((await client.call(method.searchTools, {})).tools).toEqual([]);
    expect((await client.call(method.listCalls, {})).calls).toEqual([]);
    expect((await client.call(SessionService.method.listSessions, {})).sessions).toEqual([]);
    expect((await client.call(AccessService.method.listTokens, {})).tokens).toHaveLength(1);
    const calls = await client.refused(method.listCalls, { pageSize: 1, pageToken: own.callPage });
    const sessions = await client.refused(SessionService.method.listSessions, { pageToken: own.sessionPage });
    expect([calls.code, sessions.code]).toEqual(['INVALID_ARGUMENT', 'INVALID_ARGUMENT']);
  });

  it('9.3: has ids of its own: the same call and session ids are free', async () => {
    await using guarded = await openGuardedEngine({ providers: { silent: SILENT_PROVIDER } });
    const own = await furnish(guarded, 'acme');
    const other = await furnish(guarded, 'other');
    expect(other.callId).toBe(own.callId);
  });

  it('9.3: calls none of its workers, and hears nothing of a tool of that name', async () => {
    await using guarded = await openGuardedEngine({ resumeGraceMs: 1 });
    await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 'secret_tool' }]);
    const client = guarded.client((await guarded.token(CLIENT, { tenant: 'other' })).secret);
    const started = await client.call(method.startCall, { call: { name: 'secret_tool', callId: 'c' } });
    expect(JSON.stringify(started.call?.outcome ?? '')).not.toContain('secret_tool,');
    expect(started.call?.outcome.case).not.toBe('result');
  });
});

describe('a lying worker', () => {
  async function holding(guarded: GuardedEngine) {
    const worker = await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 't' }]);
    const client: RawClient = guarded.client((await guarded.token(CLIENT)).secret);
    const ending = client.call(method.callTool, { name: 't', callId: 'held' });
    const work = await worker.work('held');
    return { worker, ending, leaseToken: work.leaseToken };
  }

  it.each(['acme', 'other'])(
    '9.3: cannot answer, drop or resume what a worker of another credential holds, in tenant %s',
    async (tenant) => {
      await using guarded = await openGuardedEngine();
      const { worker, ending, leaseToken } = await holding(guarded);
      const { secret } = await guarded.token(WORKER, { tenant });
      const liar = await guarded.worker(secret, [{ name: 'u' }]);
      liar.send({ case: 'answer', value: { leaseToken, outcome: textResult('forged') } });
      liar.send({ case: 'reject', value: { leaseToken, reason: 'forged' } });
      await liar.heartbeat(0);
      // The same name for its process, and with another tenant the very resume token.
      const { resumeToken } = worker.welcome;
      const hello = { ...worker.hello, streamNumber: 2, ...(tenant === 'other' && { resumeToken }) };
      const thief = await connectWorker(guarded.engine.address, hello, { token: secret });
      await thief.heartbeat(0, leaseToken);
      await worker.answer(leaseToken, textResult('true'));
      const { outcome } = await ending;
      expect(outcome).toMatchObject({
        case: 'result',
        value: { content: [{ kind: { value: { text: 'true' } } }] },
      });
      thief.vanish();
    },
  );

  it('5.5: may take a process over only by its resume token, which the older stream is told', async () => {
    await using guarded = await openGuardedEngine();
    const { worker, ending, leaseToken } = await holding(guarded);
    const { secret } = await guarded.token(WORKER);
    const again = await reconnect(guarded.engine.address, worker, [{ leaseToken }], {}, { token: secret });
    expect((await worker.next('goAway')).reason).toBe(GoAwayReason.REPLACED);
    await again.answer(leaseToken, textResult('resumed'));
    expect((await ending).outcome.case).toBe('result');
    again.vanish();
  });
});

/** Each request ends as one for an id that is not there: neither words nor details tell which of them is. */
async function expectHidden(
  guarded: GuardedEngine,
  token: string,
  requests: Iterable<readonly [DescMethod, readonly Shape[]]>,
): Promise<void> {
  for (const [served, shapes] of requests) {
    for (const shape of shapes) {
      const foreign = await endOf(guarded.engine.address, served, { token, request: shape });
      const missing = await endOf(guarded.engine.address, served, { token, request: renamed(shape) });
      const wanted = foreign.reason === 'not_permitted' ? 'PERMISSION_DENIED' : 'NOT_FOUND';
      expect([served.name, foreign.code, foreign.reason]).toEqual([served.name, wanted, missing.reason]);
      expect([served.name, unnamed(foreign, shape)]).toEqual([served.name, unnamed(missing, renamed(shape))]);
    }
  }
}

/** What a refusal says, without the ids of its request. */
function unnamed({ message, metadata }: Refused, shape: Shape): string {
  const ids = Object.values({ ...shape, ...(shape['turn'] as Shape | undefined) })
    .filter((value) => typeof value === 'string')
    .toSorted((one, other) => other.length - one.length);
  return ids.reduce((text, id) => text.replaceAll(id, 'ID'), JSON.stringify({ message, metadata }));
}

/** The same request about ids that nobody has. */
function renamed(shape: Shape): Shape {
  const pairs = Object.entries(shape).map(([name, value]) => {
    if (typeof value === 'string' && name === 'uri') return [name, `blob:sha256-${'0'.repeat(64)}`];
    if (typeof value === 'string') return [name, `${value}-x`];
    return [name, name === 'turn' ? renamed(value as Shape) : value];
  });
  return Object.fromEntries(pairs);
}
