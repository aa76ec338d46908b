import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import { CancelReason, GoAwayReason } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { createWorker, defineTool, type WorkerStatus } from '../../../src/sdk/worker/index.ts';
import { type EngineFrameInit, type EnginePeer, startEnginePeer, welcomeNext } from '../engine-peer.ts';

let peer: EnginePeer | undefined;

afterEach(async () => {
  await peer?.close();
  peer = undefined;
});

const echo = defineTool({
  name: 'echo',
  description: 'Says what it hears.',
  schema: z.object({ words: z.string() }),
  execute: ({ words }) => words,
});

function dispatch(leaseToken: string, sequence: number, name: string, args: string): EngineFrameInit {
  return {
    case: 'dispatch',
    value: {
      leaseToken,
      sequence,
      trigger: {
        kind: {
          case: 'toolExecute',
          value: {
            callId: `call-${leaseToken}`,
            name,
            arguments: args,
            attempt: 1,
            input: { status: { case: 'valid', value: {} } },
          },
        },
      },
    },
  };
}

function acknowledge(leaseToken: string): EngineFrameInit {
  return { case: 'acknowledge', value: { leaseToken, verdict: AnswerVerdict.RECORDED } };
}

async function serve(
  tools: NonNullable<Parameters<typeof createWorker>[0]['tools']>,
  statuses: WorkerStatus[] = [],
) {
  const engine = await startEnginePeer();
  peer = engine;
  const made = createWorker({
    address: engine.address,
    tools,
    name: 'tests',
    onStatus: (status) => statuses.push(status),
  });
  const done = made.run();
  done.catch(() => undefined);
  return { engine, made, done };
}

describe('a worker over grpc-js', () => {
  it('5.1: says hello, beats on the welcome, answers, and drains with a half-close', async () => {
    const { engine, made, done } = await serve([echo]);
    const { stream, hello, heartbeat } = await welcomeNext(engine);
    expect(hello.tools.map((offer) => offer.tool?.name)).toEqual(['echo']);
    expect(hello).toMatchObject({ streamNumber: 1, resumeToken: '', workerName: 'tests', maxInFlight: 16 });
    expect(heartbeat).toMatchObject({ sequence: 1, receivedThrough: 0, held: [] });
    await made.ready;

    stream.send(dispatch('a', 1, 'echo', '{"words":"hello"}'));
    const answer = await stream.next('answer');
    expect(answer).toMatchObject({ leaseToken: 'a', outcome: { case: 'valueJson', value: '"hello"' } });
    stream.send(acknowledge('a'));

    const stopped = made.stop('tests are over');
    expect(await stream.next('drain')).toMatchObject({ reason: 'tests are over' });
    stream.send({ case: 'drainReply', value: {} });
    expect(await stream.ended).toBe('half_closed');
    stream.end();
    await stopped;
    await done;
  });

  it('5.7: keeps an answer until it is acknowledged, and sends it again on the next stream', async () => {
    const { engine, made } = await serve([echo]);
    const first = await welcomeNext(engine);
    first.stream.send(dispatch('a', 1, 'echo', '{"words":"once"}'));
    await first.stream.next('answer');
    first.stream.fail(14, 'the engine went away');

    const second = await engine.streams.take();
    const hello = await second.next('hello');
    expect(hello).toMatchObject({ streamNumber: 2, resumeToken: 'token-1' });
    expect(hello.held).toMatchObject([{ leaseToken: 'a', answered: true }]);
    second.send({ case: 'welcome', value: { connectionId: 'c2', resumeToken: 'token-2' } });
    expect(await second.next('heartbeat')).toMatchObject({ held: ['a'] });
    expect(await second.next('answer')).toMatchObject({ leaseToken: 'a' });
    second.send(acknowledge('a'));
    const stopped = made.stop();
    await second.next('drain');
    second.send({ case: 'drainReply', value: {} });
    await second.ended;
    second.end();
    await stopped;
  });

  it('5.2: answers of one tick travel in one message', async () => {
    const { engine } = await serve([echo]);
    const { stream } = await welcomeNext(engine);
    const before = stream.batches.length;
    stream.send(
      ...Array.from({ length: 20 }, (_, index) => dispatch(`l${index}`, index + 1, 'echo', '{"words":"x"}')),
    );
    for (let count = 0; count < 20; count++) await stream.next('answer');
    expect(stream.batches.slice(before)).toEqual([20]);
    stream.fail(3, 'enough');
  });

  it('4.10: a cancel aborts the handler, and the answer says so once it has stopped', async () => {
    const started = Promise.withResolvers<void>();
    const patient = defineTool({
      name: 'patient',
      description: 'Waits.',
      execute: (_, { signal }) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          started.resolve();
        }),
    });
    const { engine } = await serve([patient]);
    const { stream } = await welcomeNext(engine);
    stream.send(dispatch('a', 1, 'patient', '{}'));
    await started.promise;
    stream.send({ case: 'cancel', value: { leaseToken: 'a', reason: CancelReason.DEADLINE } });
    expect(await stream.next('answer')).toMatchObject({ leaseToken: 'a', outcome: { case: 'cancelled' } });
    stream.fail(3, 'enough');
  });

  it.each([
    [16, 'UNAUTHENTICATED'],
    [7, 'PERMISSION_DENIED'],
    [3, 'INVALID_ARGUMENT'],
    [12, 'UNIMPLEMENTED'],
  ])('5.3: status %i ends the worker with %s', async (code, name) => {
    const { engine, made, done } = await serve([echo]);
    const stream = await engine.streams.take();
    await stream.next('hello');
    stream.fail(code, 'this will not work');
    await expect(done).rejects.toMatchObject({
      code: name,
      message: expect.stringContaining('will not work'),
    });
    await expect(made.ready).rejects.toMatchObject({ code: name });
  });

  it('5.3: a go-away that says `replaced` ends the worker; another one makes it connect again', async () => {
    const { engine, done } = await serve([echo]);
    const { stream } = await welcomeNext(engine);
    stream.send({ case: 'goAway', value: { reason: GoAwayReason.MAX_AGE } });
    const next = await welcomeNext(engine);
    expect(next.hello.streamNumber).toBe(2);
    next.stream.send({ case: 'goAway', value: { reason: GoAwayReason.REPLACED } });
    await expect(done).rejects.toThrow(/another stream of this process/);
  });

  it('leaves signal handlers as it found them', async () => {
    const before = process.listenerCount('SIGTERM');
    const { engine, done } = await serve([echo]);
    const stream = await engine.streams.take();
    expect(process.listenerCount('SIGTERM')).toBe(before + 1);
    stream.fail(3, 'enough');
    await expect(done).rejects.toThrow();
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
});
