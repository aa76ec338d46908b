import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import { LimitSettingsSchema } from '../../../src/access/settings.ts';
import { method } from '../raw-client.ts';
import { CLIENT, type GuardedEngine, openGuardedEngine, WORKER } from './guarded-engine.ts';

const limited = (limits: object): Promise<GuardedEngine> =>
  openGuardedEngine({ limits: LimitSettingsSchema.parse(limits) });

describe('limits of tenants and credentials', () => {
  it('9.3: calls in flight of a tenant are bounded, whichever way they come; other tenants go on', async () => {
    await using guarded = await limited({ tenant: { calls_in_flight: 2 } });
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    const other = guarded.client((await guarded.token(CLIENT, { tenant: 'other' })).secret);
    for (const callId of ['a', 'b']) await client.call(method.startCall, { call: { name: 't', callId } });
    const refusal = { code: 'RESOURCE_EXHAUSTED', metadata: { limit: 'calls_in_flight', of: 'tenant' } };
    expect(await client.refused(method.callTool, { name: 't' })).toMatchObject(refusal);
    const many = client.duplex(method.streamCalls);
    many.send({ calls: [{ name: 't', callId: 'c' }] });
    expect((await many.next()).updates[0]?.kind).toMatchObject({
      case: 'refused',
      value: { retryable: true },
    });
    many.cancel();
    // The same call again is no new one.
    await client.call(method.startCall, { call: { name: 't', callId: 'a' } });
    await other.call(method.startCall, { call: { name: 't', callId: 'a' } });
    await client.call(method.cancelCall, { callId: 'a' });
    await client.call(method.startCall, { call: { name: 't', callId: 'd' } });
  });

  it('9.3: calls in flight of a credential are bounded; another of the same tenant goes on', async () => {
    await using guarded = await limited({ credential: { calls_in_flight: 1 } });
    const [one, two] = [await guarded.token(CLIENT), await guarded.token(CLIENT)];
    const client = guarded.client(one.secret);
    await client.call(method.startCall, { call: { name: 't' } });
    expect(await client.refused(method.startCall, { call: { name: 't' } })).toMatchObject({
      metadata: { limit: 'calls_in_flight', of: 'credential' },
    });
    await guarded.client(two.secret).call(method.startCall, { call: { name: 't' } });
  });

  it('9.3: a rate that is reached says when to come again, by RetryInfo', async () => {
    await using guarded = await limited({ credential: { calls_per_second: 0.01 } });
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    await client.call(method.startCall, { call: { name: 't' } });
    const stream = client.stream(method.streamCallTool, { call: { name: 't' } });
    const status = await stream.status;
    const [bytes] = status.metadata.get('grpc-status-details-bin');
    const details = Buffer.isBuffer(bytes) ? fromBinary(StatusSchema, bytes).details : [];
    const retry = details
      .map((detail) => anyUnpack(detail, RetryInfoSchema))
      .find((info) => info !== undefined);
    expect(Number(retry?.retryDelay?.seconds)).toBeGreaterThan(80);
  });

  it('9.3: streams are bounded, of workers and of clients, and free again when they end', async () => {
    await using guarded = await limited({ credential: { streams: 1 } });
    const token = (await guarded.token(WORKER)).secret;
    const worker = await guarded.worker(token, [{ name: 't' }]);
    await expect(guarded.worker(token, [{ name: 't' }])).rejects.toThrow('8');
    worker.halfClose();
    await worker.status;
    await guarded.worker(token, [{ name: 't' }]);
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    const many = client.duplex(method.streamCalls);
    many.send({ calls: [{ name: 't', callId: 'c', allUpdates: true }] });
    await many.next();
    expect((await client.stream(method.watchCall, { callId: 'c' }).status).code).toBe(8);
    many.cancel();
    const watched = async (): Promise<boolean> => {
      const watching = client.stream(method.watchCall, { callId: 'c' });
      const first = await Promise.race([watching.next().then(() => true), watching.status.then(() => false)]);
      watching.cancel();
      return first;
    };
    while (!(await watched()));
  });

  it('9.3: bytes that a tenant stores are bounded by the day; what is over fails its own call', async () => {
    await using guarded = await limited({ tenant: { blob_bytes_per_day: 1_000 } });
    for (const [tenant, bytes, outcome] of [
      ['acme', 800, 'result'],
      ['acme', 801, 'error'],
      ['other', 800, 'result'],
    ] as const) {
      const worker = await guarded.worker((await guarded.token(WORKER, { tenant })).secret, [{ name: 't' }]);
      const client = guarded.client((await guarded.token(CLIENT, { tenant })).secret);
      const ending = client.call(method.callTool, { name: 't', arguments: `{"n":${bytes}}` });
      const { leaseToken } = await worker.work();
      const image = { data: Buffer.alloc(bytes, 1), mimeType: 'image/png' };
      await worker.answer(leaseToken, {
        case: 'result',
        value: { content: [{ kind: { case: 'image', value: image } }] },
      });
      const ended = await ending;
      expect([tenant, ended.outcome.case]).toEqual([tenant, outcome]);
      if (ended.outcome.case === 'error') expect(ended.outcome.value.code).toBe('overloaded');
      worker.vanish();
    }
  });
});
