import { create, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { AnswerSchema } from '../../gen/spindle/v1/worker_service_pb.ts';
import { duration } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { holding, stillServes } from './holding.ts';
import { method, refusedOf } from './raw-client.ts';
import { type Outcome, textResult } from './raw-worker.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('an answer that does not fit', () => {
  it.each<[string, Outcome]>([
    ['unset', { case: undefined }],
    ['a response of a model', { case: 'modelResponse', value: {} }],
    ['a decision of a worker that is bound to no agent', { case: 'decision', value: {} }],
    ['the acceptance of a proposal that there was not', { case: 'accept', value: {} }],
    ['a stop that nobody asked for', { case: 'cancelled', value: {} }],
    ['structured_json that is no JSON', { case: 'result', value: { structuredJson: '{' } }],
    ['structured_json that is empty', { case: 'result', value: { structuredJson: '' } }],
    ['details_json that is no JSON', { case: 'result', value: { detailsJson: 'NaN' } }],
    ['details_json over 1 MiB', { case: 'result', value: { detailsJson: `"${'x'.repeat(1_048_576)}"` } }],
    [
      'presentation that is no JSON',
      { case: 'result', value: { presentation: [{ eventType: 'chart', payloadJson: '<b>' }] } },
    ],
    ['value_json that is no JSON', { case: 'valueJson', value: '{a:1}' }],
    ['value_json that is empty', { case: 'valueJson', value: '' }],
    ['value_json with a key twice', { case: 'valueJson', value: '{"a":1,"a":2}' }],
    ['value_json of 100,000 levels', { case: 'valueJson', value: deep(100_000) }],
    ['a block without a kind', { case: 'result', value: { content: [{}] } }],
    [
      'more blocks than a result may have',
      {
        case: 'result',
        value: {
          content: Array.from({ length: 1_001 }, () => ({ kind: { case: 'text' as const, value: {} } })),
        },
      },
    ],
    ['a deferral into the past', { case: 'toolDefer', value: { timeout: duration(-1) } }],
    [
      'a deferral for longer than a year',
      { case: 'toolDefer', value: { timeout: duration(400 * 86_400_000) } },
    ],
    ['an interrupt whose payload is no JSON', { case: 'interrupt', value: { payloadJson: '}' } }],
    ['an interrupt whose id is too long', { case: 'interrupt', value: { interruptId: 'i'.repeat(10_000) } }],
  ])('5.12: %s ends the call with invalid_answer', async (_, outcome) => {
    const held = await holding(engine);
    const { worker, work, end } = held;
    const ack = await worker.answer(work.leaseToken, outcome);
    expect(ack.verdict).toBe(AnswerVerdict.REFUSED);
    expect(ack.reason).not.toBe('');
    expect((await end()).outcome.value).toMatchObject({
      code: 'invalid_answer',
      retryable: false,
      mayHaveTakenEffect: true,
    });
    await stillServes(engine, held);
    worker.vanish();
  });

  it('3.2: a result nested without end under a schema that follows it is a value like another', async () => {
    const outputSchemaJson = JSON.stringify({ type: 'array', items: { $ref: '#' } });
    const { name, worker, work, end } = await holding(engine, {}, { outputSchemaJson });
    await worker.answer(work.leaseToken, { case: 'result', value: { structuredJson: deep(200_000) } });
    expect((await end()).outcome.value).toMatchObject({
      code: expect.stringMatching(/^invalid_(output|answer)$/),
    });
    const calling = engine.client.call(method.callTool, { name });
    await worker.answer((await worker.work()).leaseToken, { case: 'valueJson', value: '[[]]' });
    expect((await calling).outcome.case).toBe('result');
    worker.vanish();
  });

  it('5.2: a string that is not UTF-8 is no message, and ends the stream with a reason', async () => {
    const { worker } = await holding(engine);
    worker.sendBytes(new Uint8Array([0x0a, 0x06, 0x12, 0x04, 0x0a, 0x02, 0xc3, 0x28]));
    expect(refusedOf(await worker.status)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'malformed_message',
    });
  });

  it('5.12: unknown frames, unknown fields and frames for models are ignored', async () => {
    const held = await holding(engine);
    const { worker, work } = held;
    worker.send({ case: 'modelDelta', value: { leaseToken: work.leaseToken } }, { case: undefined });
    worker.sendBytes(new Uint8Array([0x0a, 0x03, 0x9a, 0x06, 0x00]));
    // An answer with a field of a later version.
    const answer = toBinary(
      AnswerSchema,
      create(AnswerSchema, { leaseToken: work.leaseToken, outcome: textResult('x') }),
    );
    const later = Buffer.concat([answer, Buffer.from([0xa2, 0x06, 0x01, 0x00])]);
    const frame = Buffer.concat([Buffer.from([0x12, later.length]), later]);
    worker.sendBytes(Buffer.concat([Buffer.from([0x0a, frame.length]), frame]));
    expect((await worker.next('acknowledge')).verdict).toBe(AnswerVerdict.RECORDED);
    await stillServes(engine, held);
    worker.vanish();
  });

  it('3.4: a frame larger than the engine reads ends the stream with RESOURCE_EXHAUSTED', async () => {
    const { worker, work } = await holding(engine);
    worker.send({
      case: 'answer',
      value: { leaseToken: work.leaseToken, outcome: textResult('x'.repeat(5_000_000)) },
    });
    expect((await worker.status).code).toBe(status.RESOURCE_EXHAUSTED);
  });

  it('3.4: text over 256 KiB is kept as a blob, and its reader gets all of it', async () => {
    const { worker, work, end } = await holding(engine);
    const text = 'é'.repeat(1_000_000);
    await worker.answer(work.leaseToken, textResult(text));
    const { outcome } = await end();
    const [block] = outcome.case === 'result' ? outcome.value.content : [];
    const blob = block?.kind.case === 'blob' ? block.kind.value : undefined;
    expect(blob).toMatchObject({ mimeType: 'text/plain', sizeBytes: 2_000_000n });
    const reading = engine.client.stream(method.readBlob, { uri: blob?.uri ?? '' });
    expect((await reading.status).code).toBe(status.OK);
    expect(Buffer.concat(reading.all.map(({ data }) => data)).toString()).toBe(text);
    worker.vanish();
  });

  it('3.4: a result as large as a message reaches its caller, or ends its call alone with result_too_large', async () => {
    const held = await holding(engine);
    const { worker, work, end } = held;
    const activity = 'x'.repeat(4_194_304 - 1_000);
    await worker.answer(work.leaseToken, { case: 'result', value: { activity } });
    expect((await end()).outcome.value).toMatchObject({ code: 'result_too_large' });
    await stillServes(engine, held);
    worker.vanish();
  });
});

describe('an answer for somebody else', () => {
  it.each(['', 'invented', 'invented/call:own-1', '/', 'x/'.repeat(50_000)])(
    '5.12: with the invented lease %.20j is stale and changes nothing',
    async (leaseToken) => {
      const { worker, work, end } = await holding(engine);
      expect((await worker.answer(leaseToken, textResult('mine'))).verdict).toBe(AnswerVerdict.STALE);
      expect((await worker.answer(work.leaseToken, textResult('right'))).verdict).toBe(
        AnswerVerdict.RECORDED,
      );
      expect((await end()).outcome.value).toMatchObject({
        content: [{ kind: { value: { text: 'right' } } }],
      });
      worker.vanish();
    },
  );

  it('9.3: with the lease of another worker is stale, and so are its reject, its progress and its heartbeat', async () => {
    const { worker, work, end, watching } = await holding(engine);
    const liar = await engine.worker([]);
    expect((await liar.answer(work.leaseToken, textResult('stolen'))).verdict).toBe(AnswerVerdict.STALE);
    liar.send(
      { case: 'reject', value: { leaseToken: work.leaseToken } },
      {
        case: 'progress',
        value: { leaseToken: work.leaseToken, activity: 'forged', checkpoint: new Uint8Array(3) },
      },
    );
    expect(await liar.heartbeat(0, work.leaseToken)).toEqual([work.leaseToken]);
    await worker.answer(work.leaseToken, textResult('right'));
    expect((await end()).outcome.value).toMatchObject({ content: [{ kind: { value: { text: 'right' } } }] });
    expect(watching.all.map(({ update }) => update?.kind.case)).toEqual(['queued', 'started', 'finished']);
    liar.vanish();
    worker.vanish();
  });

  it('4.5: the same answer twice is a duplicate, and another one after it changes nothing', async () => {
    const { worker, work, end } = await holding(engine);
    expect((await worker.answer(work.leaseToken, textResult('first'))).verdict).toBe(AnswerVerdict.RECORDED);
    expect((await worker.answer(work.leaseToken, textResult('first'))).verdict).toBe(AnswerVerdict.DUPLICATE);
    const other = await worker.answer(work.leaseToken, { case: 'error', value: { message: 'no' } });
    expect(other.verdict).toBe(AnswerVerdict.DUPLICATE);
    expect((await end()).outcome.value).toMatchObject({ content: [{ kind: { value: { text: 'first' } } }] });
    worker.vanish();
  });

  it('4.5: of two answers in one message exactly one is recorded', async () => {
    const { worker, work } = await holding(engine);
    const { leaseToken } = work;
    worker.send(
      { case: 'answer', value: { leaseToken, outcome: textResult('one') } },
      { case: 'answer', value: { leaseToken, outcome: textResult('two') } },
      { case: 'reject', value: { leaseToken } },
    );
    const verdicts = [await worker.next('acknowledge'), await worker.next('acknowledge')].map(
      ({ verdict }) => verdict,
    );
    expect(verdicts).toEqual([AnswerVerdict.RECORDED, AnswerVerdict.DUPLICATE]);
    worker.vanish();
  });
});
