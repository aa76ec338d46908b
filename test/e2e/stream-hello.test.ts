import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CallStatus } from '../../gen/spindle/v1/call_pb.ts';
import { GoAwayReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import { millisOf } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { method, refusedOf } from './raw-client.ts';
import {
  connectWorker,
  type FrameKind,
  helloOf,
  openStream,
  reconnect,
  shakeHands,
  textResult,
} from './raw-worker.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

const hello = (more: object = {}): FrameKind => ({
  case: 'hello',
  value: helloOf([{ name: 'hello-tool' }], more),
});

describe('the first frame of a stream', () => {
  it.each<[string, FrameKind[], string]>([
    ['a heartbeat', [{ case: 'heartbeat', value: { sequence: 1 } }], 'must be hello, not heartbeat'],
    ['an answer', [{ case: 'answer', value: { leaseToken: 'x' } }], 'must be hello, not answer'],
    ['a hello and another', [hello(), hello()], 'only that'],
    ['no instance id', [hello({ instanceId: '' })], 'instance_id'],
    ['an instance id that is too long', [hello({ instanceId: 'i'.repeat(129) })], 'instance_id'],
    ['no stream number', [hello({ streamNumber: 0 })], 'stream_number'],
    ['a worker name that is too long', [hello({ workerName: 'n'.repeat(257) })], 'worker_name'],
    ['a build id that is too long', [hello({ buildId: 'n'.repeat(257) })], 'build_id'],
    ['an SDK name that is too long', [hello({ sdk: 'n'.repeat(257) })], 'sdk'],
    ['more dispatches than a worker may run', [hello({ maxInFlight: 4_097 })], 'max_in_flight'],
    ['messages too small to carry a dispatch', [hello({ maxMessageBytes: 1_024 })], 'max_message_bytes'],
    [
      'more tools than a worker may offer',
      [hello({ tools: Array.from({ length: 1_001 }, () => ({})) })],
      '1001 entries',
    ],
  ])('5.12: %s ends the stream with INVALID_ARGUMENT and a reason', async (_, frames, reason) => {
    const stream = openStream(engine.address);
    stream.send(...frames);
    const ended = refusedOf(await stream.status);
    expect(ended).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'protocol_error', domain: 'spindle.v1' });
    expect(ended.message).toContain(reason);
  });

  it('5.12: an empty message and frames of an unknown kind before it are no hello', async () => {
    const stream = openStream(engine.address);
    stream.send();
    stream.sendBytes(new Uint8Array([0x0a, 0x03, 0x9a, 0x06, 0x00]));
    expect(refusedOf(await stream.status)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('5.12: bytes that are no protobuf end the stream with INVALID_ARGUMENT', async () => {
    const stream = openStream(engine.address);
    stream.sendBytes(new Uint8Array([0xff, 0xff, 0xff]));
    expect(refusedOf(await stream.status)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'malformed_message',
    });
  });

  it('5.1: a peer that half-closes without a word gets OK', async () => {
    const stream = openStream(engine.address);
    stream.halfClose();
    expect((await stream.status).code).toBe(status.OK);
  });
});

describe('the welcome', () => {
  it('5.3: tells every time that the worker has to keep, and how large a message may be', async () => {
    const { welcome, halfClose } = await shakeHands(engine.address, helloOf([]));
    const times = [welcome.heartbeatInterval, welcome.silenceTimeout, welcome.resumeGrace].map(
      (length) => length && millisOf(length),
    );
    expect(times).toEqual([10_000, 30_000, 30_000]);
    expect(welcome.maxMessageBytes).toBe(4 * 1024 * 1024);
    expect(welcome.connectionId).not.toBe('');
    expect(welcome.resumeToken.length).toBeGreaterThan(20);
    halfClose();
  });

  it('2.2: names the tools that were refused and why, while the others serve', async () => {
    const worker = await connectWorker(
      engine.address,
      helloOf([
        { name: 'good' },
        { name: 'not json', inputSchemaJson: '{' },
        { name: 'bad-schema', inputSchemaJson: '{"type":"objekt"}' },
        { name: 'no-object', inputSchemaJson: '{"type":"string"}' },
        { name: 'old-dialect', inputSchemaJson: '{"$schema":"http://json-schema.org/draft-04/schema#"}' },
        { name: 'remote', inputSchemaJson: '{"$ref":"https://example.com/schema.json"}' },
        { name: 'good', description: 'again' },
        { name: '' },
      ]),
    );
    const refusedNames = worker.welcome.refusedTools.map(({ name }) => name);
    expect(refusedNames).toEqual([
      'not json',
      'bad-schema',
      'no-object',
      'old-dialect',
      'remote',
      'good',
      '',
    ]);
    expect(worker.welcome.refusedTools.map(({ reason }) => reason.length > 10)).not.toContain(false);
    const calling = engine.client.call(method.callTool, { name: 'good', arguments: '{}' });
    await worker.answer((await worker.work()).leaseToken, textResult('served'));
    expect((await calling).outcome.case).toBe('result');
    worker.vanish();
  });

  it('5.1: nothing is dispatched before the first heartbeat, and at once after it', async () => {
    const worker = await shakeHands(engine.address, helloOf([{ name: 'early' }]));
    const { call } = await engine.client.call(method.startCall, { call: { name: 'early', callId: 'early' } });
    expect(call?.status).toBe(CallStatus.QUEUED);
    // The reply to set_tools shows that the engine has written what it had to write.
    worker.send({ case: 'setTools', value: { tools: [{ tool: { name: 'early' } }] } });
    await worker.next('toolsReply');
    expect(worker.inbox.all.map(({ kind }) => kind.case)).toEqual(['welcome', 'toolsReply']);
    await worker.heartbeat(0);
    expect((await worker.work()).execute.callId).toBe('early');
    worker.vanish();
  });

  it('5.1: a draining hello is welcome and gets nothing', async () => {
    const worker = await connectWorker(engine.address, helloOf([{ name: 'drained' }], { draining: true }));
    const { call } = await engine.client.call(method.startCall, { call: { name: 'drained' } });
    expect(call?.status).toBe(CallStatus.QUEUED);
    await worker.heartbeat(0);
    expect(worker.inbox.all.map(({ kind }) => kind.case)).not.toContain('dispatch');
    worker.vanish();
  });
});

describe('a process on its next stream', () => {
  it('5.3: a stream number that is not above the last one is refused', async () => {
    const worker = await engine.worker([{ name: 'numbered' }]);
    const stream = openStream(engine.address);
    const { resumeToken } = worker.welcome;
    stream.send({ case: 'hello', value: { ...worker.hello, resumeToken, streamNumber: 1 } });
    expect(refusedOf(await stream.status)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('stream_number'),
    });
  });

  it('5.5: its older stream is told that it was replaced, and ends with OK', async () => {
    const worker = await engine.worker([{ name: 'replaced' }]);
    const next = await reconnect(engine.address, worker);
    expect((await worker.next('goAway')).reason).toBe(GoAwayReason.REPLACED);
    expect((await worker.status).code).toBe(status.OK);
    expect(next.welcome.resumeToken).toBe(worker.welcome.resumeToken);
    next.vanish();
  });

  it.each(['', 'not-the-token', 'A'.repeat(43)])(
    '5.5: without the right token (%j) a hello is a new process, and what the old one held is lost',
    async (resumeToken) => {
      const name = `stolen-${resumeToken.length}`;
      const worker = await engine.worker([{ name }]);
      const calling = engine.client.call(method.callTool, { name });
      const { leaseToken } = await worker.work();
      const thief = await connectWorker(engine.address, {
        ...worker.hello,
        resumeToken,
        streamNumber: 9,
        held: [{ leaseToken }],
      });
      expect((await calling).outcome.value).toMatchObject({
        code: 'outcome_unknown',
        mayHaveTakenEffect: true,
      });
      expect(thief.welcome.abandon).toEqual([leaseToken]);
      thief.vanish();
    },
  );
});
