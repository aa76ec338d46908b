import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CallStatus } from '../../gen/spindle/v1/call_pb.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { holding, ownName } from './holding.ts';
import { method } from './raw-client.ts';
import { textResult } from './raw-worker.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

const text = (outcome: { readonly value?: unknown }) => JSON.stringify(outcome.value);

describe('a call id that is used again', () => {
  it('4.12: joins the call while it runs and after its end, on every method', async () => {
    const { name, worker, work, end } = await holding(engine);
    const call = { name, callId: name };
    const joined = engine.client.call(method.callTool, call);
    const streamed = engine.client.stream(method.streamCallTool, { call });
    expect((await streamed.next()).update?.kind.case).toBe('started');
    const duplex = engine.client.duplex(method.streamCalls);
    duplex.send({ calls: [call] });
    expect((await engine.client.call(method.startCall, { call })).call?.status).toBe(CallStatus.RUNNING);
    await worker.answer(work.leaseToken, textResult('once'));
    const first = await end();
    expect(await joined).toEqual(first);
    expect((await streamed.next()).update?.kind.value).toEqual(first);
    expect((await duplex.next()).updates.map(({ kind }) => kind.value)).toEqual([first]);

    expect(await engine.client.call(method.callTool, call)).toEqual(first);
    const later = engine.client.stream(method.streamCallTool, { call });
    expect((await later.status).code).toBe(status.OK);
    expect(later.all.map(({ update }) => update?.kind.value)).toEqual([first]);
    duplex.send({ calls: [call] });
    expect((await duplex.next()).updates.map(({ kind }) => kind.value)).toEqual([first]);
    const started = await engine.client.call(method.startCall, { call });
    expect(text(started.call?.outcome ?? {})).toBe(text(first.outcome));
    await worker.heartbeat(1);
    expect(worker.inbox.all.filter(({ kind }) => kind.case === 'dispatch')).toHaveLength(1);
    duplex.cancel();
    worker.vanish();
  });

  it('4.12: with other arguments is ALREADY_EXISTS, with the id in its ErrorInfo; on StreamCalls an update', async () => {
    const { name, worker } = await holding(engine, { arguments: '{}' });
    for (const other of [
      { name, callId: name, arguments: '{ }' },
      { name: `${name}-x`, callId: name, arguments: '{}' },
    ]) {
      expect(await engine.client.refused(method.callTool, other)).toMatchObject({
        code: 'ALREADY_EXISTS',
        domain: 'spindle.v1',
        reason: 'call_id_conflict',
        metadata: { call_id: name },
      });
    }
    const duplex = engine.client.duplex(method.streamCalls);
    duplex.send({ calls: [{ name, callId: name, arguments: '[]' }] });
    const [update] = (await duplex.next()).updates;
    expect(update).toMatchObject({
      callId: name,
      kind: { case: 'refused', value: { code: 'call_id_conflict' } },
    });
    duplex.cancel();
    worker.vanish();
  });
});

describe('StreamCalls', () => {
  it('4.10: a cancel in the same message as its call reaches it', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name }]);
    const duplex = engine.client.duplex(method.streamCalls);
    duplex.send({ calls: [{ name, callId: name }], cancelCallIds: [name, 'unknown'] });
    const [update] = (await duplex.next()).updates;
    expect(update?.kind.value).toMatchObject({ outcome: { value: { code: 'cancelled' } } });
    duplex.halfClose();
    expect((await duplex.status).code).toBe(status.OK);
    worker.vanish();
  });

  it('refuses calls without an id, ids that are in flight, and broken calls alone; the stream goes on', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name }]);
    const duplex = engine.client.duplex(method.streamCalls);
    duplex.send({
      calls: [
        { name },
        { name, callId: 'twice-in-flight' },
        { name, callId: 'twice-in-flight' },
        { name: '', callId: 'nameless' },
        { name, callId: 'with space' },
        { name, callId: 'policy', retry: { maxAttempts: 0 } },
      ],
    });
    const refused = new Map<string, string>();
    while (refused.size < 5)
      for (const { callId, kind } of (await duplex.next()).updates)
        refused.set(callId, kind.case === 'refused' ? kind.value.code : '');
    expect([...refused.values()]).toEqual(Array(5).fill('invalid_request'));
    await worker.answer((await worker.work('twice-in-flight')).leaseToken, textResult(''));
    duplex.halfClose();
    expect((await duplex.status).code).toBe(status.OK);
    worker.vanish();
  });

  it('4.10: when it breaks its calls go on, and can be watched', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name }]);
    const duplex = engine.client.duplex(method.streamCalls);
    duplex.send({ calls: [{ name, callId: name }] });
    const { leaseToken } = await worker.work();
    duplex.cancel();
    await duplex.status;
    const watching = engine.client.stream(method.watchCall, { callId: name });
    expect((await watching.next()).update?.kind.case).toBe('started');
    await worker.answer(leaseToken, textResult('done'));
    expect((await watching.next()).update?.kind.case).toBe('finished');
    expect((await watching.status).code).toBe(status.OK);
    worker.vanish();
  });
});

describe('WatchCall', () => {
  it('tells the end of a call that has ended, and NOT_FOUND for one that never was', async () => {
    const { name, worker, work, end } = await holding(engine);
    await worker.answer(work.leaseToken, textResult('done'));
    const ended = await end();
    const watching = engine.client.stream(method.watchCall, { callId: name });
    expect((await watching.status).code).toBe(status.OK);
    expect(watching.all.map(({ update }) => update?.kind.value)).toEqual([ended]);
    expect((await engine.client.stream(method.watchCall, { callId: 'never-was' }).status).code).toBe(
      status.NOT_FOUND,
    );
    worker.vanish();
  });

  it('has a bound on its readers, and a place is free again when one leaves', async () => {
    const { name, worker } = await holding(engine);
    const readers = Array.from({ length: 63 }, () =>
      engine.client.stream(method.watchCall, { callId: name }),
    );
    for (const reader of readers) await reader.next();
    const tooMany = engine.client.stream(method.watchCall, { callId: name });
    expect((await tooMany.status).code).toBe(status.RESOURCE_EXHAUSTED);
    readers[0]?.cancel();
    await readers[0]?.status;
    // The engine hears of the cancel on its own time: a reader is let in once it has.
    let letIn: unknown;
    while (letIn === undefined)
      letIn = await engine.client
        .stream(method.watchCall, { callId: name })
        .next()
        .catch(() => undefined);
    for (const reader of readers) reader.cancel();
    worker.vanish();
  });
});

describe('ListCalls', () => {
  it('pages newest first, by tool and by what has not ended, and refuses tokens that are not its own', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name }], { maxInFlight: 100 });
    const ids = Array.from({ length: 7 }, (_, index) => `${name}-${index}`);
    for (const callId of ids) await engine.client.call(method.startCall, { call: { name, callId } });
    for (const callId of ids.slice(0, 3))
      await worker.answer((await worker.work(callId)).leaseToken, textResult(''));
    const pages: string[][] = [];
    let pageToken = '';
    do {
      const page = await engine.client.call(method.listCalls, { name, pageSize: 3, pageToken });
      pages.push(page.calls.map(({ callId }) => callId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    const newest = ids.toReversed();
    expect(pages).toEqual([newest.slice(0, 3), newest.slice(3, 6), newest.slice(6)]);
    const unfinished = await engine.client.call(method.listCalls, { name, onlyUnfinished: true });
    expect(unfinished.calls.map(({ callId }) => callId)).toEqual(newest.slice(0, 4));

    const { nextPageToken } = await engine.client.call(method.listCalls, { name, pageSize: 1 });
    for (const forged of ['x', '!!!', 'A'.repeat(16), nextPageToken.slice(1), `${nextPageToken}A`])
      expect(await engine.client.refused(method.listCalls, { name, pageToken: forged })).toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    const elsewhere = await engine.client.refused(method.listCalls, { pageToken: nextPageToken });
    expect(elsewhere).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('page_token'),
    });
    expect((await engine.client.refused(method.listCalls, { pageSize: 100_000 })).code).toBe(
      'INVALID_ARGUMENT',
    );
    worker.vanish();
  });

  it('3.4: no page is larger than its reader takes, and none of the calls is left out', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name }]);
    const large = `{"x":"${'x'.repeat(900_000)}"}`;
    for (let index = 0; index < 6; index++) {
      const calling = engine.client.call(method.callTool, {
        name,
        callId: `${name}-${index}`,
        arguments: large,
      });
      await worker.answer((await worker.work()).leaseToken, {
        case: 'result',
        value: { detailsJson: large },
      });
      await calling;
    }
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = await engine.client.call(method.listCalls, { name, pageToken });
      seen.push(...page.calls.map(({ callId }) => callId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(seen).toEqual([5, 4, 3, 2, 1, 0].map((index) => `${name}-${index}`));
    worker.vanish();
  });
});

describe('ListTools and SearchTools', () => {
  it('list by globs, in pages, what connected workers offer', async () => {
    const name = ownName();
    const names = ['a', 'b', 'c.d', 'c.e'].map((suffix) => `${name}.${suffix}`);
    const worker = await engine.worker(
      names.map((each) => ({ name: each, description: 'Lists moons of Jupiter' })),
    );
    const list = async (...globs: string[]) =>
      (await engine.client.call(method.listTools, { names: globs })).tools.map(({ tool }) => tool?.name);
    expect(await list(`${name}.*`)).toEqual(names);
    expect(await list(`${name}.c.*`, `${name}.a`)).toEqual([names[0], names[2], names[3]]);
    expect(await list(`${name}.?`)).toEqual(names.slice(0, 2));
    expect(await list(`${'*a'.repeat(200)}`)).toEqual([]);
    const first = await engine.client.call(method.listTools, { names: [`${name}.*`], pageSize: 3 });
    const rest = await engine.client.call(method.listTools, {
      names: [`${name}.*`],
      pageSize: 3,
      pageToken: first.nextPageToken,
    });
    expect([...first.tools, ...rest.tools].map(({ tool }) => tool?.name)).toEqual(names);
    expect(rest.nextPageToken).toBe('');
    expect((await engine.client.refused(method.listTools, { pageToken: '%%%' })).code).toBe(
      'INVALID_ARGUMENT',
    );
    const found = await engine.client.call(method.searchTools, { query: 'jupiter moon', maxMatches: 3 });
    expect([found.tools.length, found.leftOut]).toEqual([3, 1]);
    worker.halfClose();
    await worker.status;
    expect(await list(`${name}.*`)).toEqual([]);
  });
});
