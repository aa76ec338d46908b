import { status } from '@grpc/grpc-js';
import { service as health } from 'grpc-health-check';
import { describe, expect, it } from 'vitest';
import { ToolService } from '../../gen/spindle/v1/tool_service_pb.ts';
import { bytesOf, pathOf, type Served, serve } from './serve.ts';

const CHECK = '/grpc.health.v1.Health/Check';

interface Answer {
  readonly status: string;
}

function check({ client }: Served, service: string): Promise<string> {
  return new Promise((resolve) => {
    const { requestSerialize, responseDeserialize } = definition('Check');
    client.makeUnaryRequest(CHECK, requestSerialize, responseDeserialize, { service }, (error, answer) =>
      resolve(error === null ? (answer as Answer).status : (status[error.code] ?? '')),
    );
  });
}

function definition(name: string) {
  const method = health[name];
  if (method === undefined) throw new Error(`no method ${name}`);
  return method;
}

describe('the health service', () => {
  it('answers for the server and for each service, and knows no other', async () => {
    await using served = await serve({});
    expect(await check(served, '')).toBe('SERVING');
    expect(await check(served, 'spindle.v1.ToolService')).toBe('SERVING');
    expect(await check(served, 'nobody')).toBe('NOT_FOUND');
  });

  it('5.9: tells its watchers at once when the engine drains, while requests go on', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    await using served = await serve({
      callTool: () => {
        arrive();
        return new Promise(() => undefined);
      },
    });
    const { requestSerialize, responseDeserialize } = definition('Watch');
    const watch = served.client.makeServerStreamRequest(
      '/grpc.health.v1.Health/Watch',
      requestSerialize,
      responseDeserialize,
      { service: '' },
    );
    watch.on('error', () => undefined);
    const seen: string[] = [];
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const { promise: serving, resolve: start } = Promise.withResolvers<void>();
    watch.on('data', (answer: Answer) => {
      seen.push(answer.status);
      (answer.status === 'SERVING' ? start : stop)();
    });
    const path = pathOf(ToolService.method.callTool);
    const call = served.client.makeUnaryRequest(path, bytesOf, bytesOf, Buffer.alloc(0), () => undefined);
    await Promise.all([arrived, serving]);
    const drained = served.listening.drain(60_000);
    await stopped;
    expect(seen).toEqual(['SERVING', 'NOT_SERVING']);
    expect(await check(served, '')).toBe('NOT_SERVING');
    call.cancel();
    await drained;
  });
});
