import { createServer } from 'node:net';
import { Client, credentials, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { ToolService } from '../../gen/spindle/v1/tool_service_pb.ts';
import { refused } from '../../src/core/refusal.ts';
import { listen } from '../../src/rpc/listen.ts';
import { callBytes, errorInfoOf, serve } from './serve.ts';

const METHOD = ToolService.method.callTool;
const nothing = { services: [], observer: { report: () => undefined } };

/** A port that is taken for as long as the result lives. */
async function taken() {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  return {
    address: `127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

async function messageOf(listening: Promise<unknown>): Promise<string> {
  try {
    await listening;
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
  throw new Error('it listens');
}

describe('listening', () => {
  it('says which ports the system chose', async () => {
    await using served = await serve({});
    expect(served.listening.grpcAddress).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    expect(served.listening.httpAddress).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    expect(served.listening.httpAddress).not.toBe(served.listening.grpcAddress);
  });

  it('opens no HTTP port where none is asked for', async () => {
    const listening = await listen({ ...nothing, grpc: 'localhost:0' });
    expect(listening.httpAddress).toBeUndefined();
    await listening.drain(0);
  });

  it.each(['grpc', 'http'] as const)('says what to do when the %s port is taken', async (kind) => {
    await using other = await taken();
    const addresses = { grpc: '127.0.0.1:0', http: '127.0.0.1:0', [kind]: other.address };
    const message = await messageOf(listen({ ...nothing, ...addresses }));
    expect(message).toContain(`${other.address} is taken by another process`);
    expect(message).toContain('choose another');
  });

  it('leaves the gRPC port free when the HTTP port is taken', async () => {
    await using free = await taken();
    const grpc = free.address;
    await free[Symbol.asyncDispose]();
    await using other = await taken();
    await messageOf(listen({ ...nothing, grpc, http: other.address }));
    const listening = await listen({ ...nothing, grpc });
    expect(listening.grpcAddress).toBe(grpc);
    await listening.drain(0);
  });

  it('refuses an address that it cannot read, or that is of another machine', async () => {
    expect(await messageOf(listen({ ...nothing, grpc: '7070' }))).toContain('HOST:PORT');
    expect(await messageOf(listen({ ...nothing, grpc: '192.0.2.1:0' }))).toContain('address of this machine');
  });
});

const JSON_CALL = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
function refusalOf(answer: Awaited<ReturnType<typeof callBytes>>) {
  return 'metadata' in answer
    ? { code: answer.code, reason: errorInfoOf(answer)?.reason }
    : { code: status.OK, reason: undefined };
}

/** grpc-js shares connections between clients of one address. */
const OWN_CONNECTION = { 'grpc.use_local_subchannel_pool': 1 };

describe('draining', () => {
  it('4.8: lets open requests finish, and tells new ones, also on new connections, that it shuts down', async () => {
    const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let count = 0;
    const answer = Promise.withResolvers<void>();
    await using served = await serve({
      async callTool() {
        arrived[count++]?.resolve();
        await answer.promise;
        return refused('not_permitted', 'The answer.');
      },
    });
    const call = callBytes(served.client, METHOD, Buffer.alloc(0));
    const web = fetch(`${served.url}/spindle.v1.ToolService/CallTool`, JSON_CALL);
    await Promise.all(arrived.map(({ promise }) => promise));
    const drained = served.listening.drain(60_000);
    const newcomer = new Client(served.listening.grpcAddress, credentials.createInsecure(), OWN_CONNECTION);
    for (const client of [served.client, newcomer]) {
      const told = refusalOf(await callBytes(client, METHOD, Buffer.alloc(0)));
      expect(told).toEqual({ code: status.UNAVAILABLE, reason: 'shutting_down' });
    }
    newcomer.close();
    const late = await fetch(`${served.url}/spindle.v1.ToolService/CallTool`, JSON_CALL);
    expect(late.status).toBe(503);
    expect(await late.json()).toMatchObject({ code: 'unavailable' });
    answer.resolve();
    expect(await call).toMatchObject({ code: status.PERMISSION_DENIED });
    expect((await web).status).toBe(403);
    await drained;
  });

  it('is one drain, however often it is asked for', async () => {
    await using served = await serve({});
    expect(served.listening.drain(0)).toBe(served.listening.drain(60_000));
  });

  it('ends what a peer holds open', async () => {
    await using served = await serve({ callTool: () => new Promise(() => undefined) });
    const call = callBytes(served.client, METHOD, Buffer.alloc(0));
    await callBytes(served.client, ToolService.method.getCall, Buffer.alloc(0));
    await served.listening.drain(0);
    expect(await call).toMatchObject({ code: status.UNAVAILABLE });
  });
});
