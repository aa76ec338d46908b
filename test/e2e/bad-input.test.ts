import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { duration } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { answerAll } from './holding.ts';
import { method, refusedOf } from './raw-client.ts';
import { type RawWorker, textResult } from './raw-worker.ts';

let engine: TestEngine;
let worker: RawWorker;
beforeAll(async () => {
  engine = await openEngine();
  worker = await engine.worker([{ name: 'echo', inputSchemaJson: '{"type":"object"}' }]);
});
afterAll(() => engine[Symbol.asyncDispose]());
afterEach(async () => {
  // Whatever was wrong has cost nobody else anything.
  const calling = engine.client.call(method.callTool, { name: 'echo', callId: '', arguments: '{}' });
  await worker.answer((await worker.work()).leaseToken, textResult('fine'));
  expect((await calling).outcome.case).toBe('result');
});

/** What a worker makes of arguments: the call is answered, and the verdict is given back. */
async function verdictOf(args: string) {
  const calling = engine.client.call(method.callTool, { name: 'echo', arguments: args });
  const { execute, leaseToken } = await worker.work();
  const kind = execute.input?.status.case;
  await worker.answer(leaseToken, kind === 'valid' ? textResult('') : { case: 'accept', value: {} });
  const { outcome } = await calling;
  expect(execute.arguments === args).toBe(true);
  return { kind, message: outcome.case === 'error' ? outcome.value.message : '' };
}

describe('a request that is refused', () => {
  const long = 'x'.repeat(5_000);
  it.each<[string, object]>([
    ['an empty name', { name: '' }],
    ['a name with white space', { name: 'two words' }],
    ['a name with a control character', { name: 'bell\u0007' }],
    ['a name with a direction mark', { name: 'evil\u202e' }],
    ['a name that is too long', { name: 'n'.repeat(257) }],
    ['a call id with a control character', { name: 'echo', callId: 'a\u0000b' }],
    ['a call id with a line break', { name: 'echo', callId: 'a\nb' }],
    ['a call id that is too long', { name: 'echo', callId: long }],
    ['no attempts', { name: 'echo', retry: { maxAttempts: 0 } }],
    ['a billion attempts', { name: 'echo', retry: { maxAttempts: 1_000_000_000 } }],
    ['a negative run timeout', { name: 'echo', retry: { runTimeout: duration(-5) } }],
    ['a total timeout of nothing', { name: 'echo', retry: { totalTimeout: duration(0) } }],
    [
      'a queue timeout of a thousand years',
      { name: 'echo', retry: { queueTimeout: duration(1_000 * 366 * 86_400_000) } },
    ],
    [
      'a heartbeat timeout beyond all numbers',
      { name: 'echo', retry: { heartbeatTimeout: { seconds: 9_223_372_036_854_775_807n, nanos: 0 } } },
    ],
    [
      'nanoseconds that outweigh the seconds',
      { name: 'echo', retry: { runTimeout: { seconds: 1n, nanos: -2_000_000_000 } } },
    ],
    ['a backoff that shrinks', { name: 'echo', retry: { backoffMultiplier: 0.5 } }],
    ['a backoff that is no number', { name: 'echo', retry: { backoffMultiplier: Number.NaN } }],
    ['a backoff without end', { name: 'echo', retry: { backoffMultiplier: Number.POSITIVE_INFINITY } }],
    ['a trace context that is too large', { name: 'echo', traceContext: { baggage: '語'.repeat(10_000) } }],
  ])('%s: INVALID_ARGUMENT that names the field, with an ErrorInfo', async (_, request) => {
    const refused = await engine.client.refused(method.callTool, { arguments: '{}', ...request });
    expect(refused).toMatchObject({
      code: 'INVALID_ARGUMENT',
      domain: 'spindle.v1',
      reason: 'invalid_request',
    });
    expect(refused.message).toMatch(/^(name|call_id|retry\.\w+|trace_context) /);
    expect(refused.message).not.toContain(long);
  });

  it('4.8: ids of nothing are NOT_FOUND, and broken ones INVALID_ARGUMENT, on every method', async () => {
    const { client } = engine;
    for (const [callId, code] of [
      ['never-was', 'NOT_FOUND'],
      ['', 'INVALID_ARGUMENT'],
      ['a\u0001', 'INVALID_ARGUMENT'],
    ] as const) {
      const outcome = { case: 'error' as const, value: {} };
      expect(await client.refused(method.getCall, { callId })).toMatchObject({ code });
      expect(await client.refused(method.cancelCall, { callId })).toMatchObject({ code });
      expect(await client.refused(method.settleCall, { callId, outcome })).toMatchObject({ code });
      expect(refusedOf(await client.stream(method.watchCall, { callId }).status)).toMatchObject({ code });
      expect(await client.refused(method.getCall, { callId, sessionId: 'nobodys' })).toMatchObject({ code });
    }
    for (const uri of [
      '',
      'x',
      'blob:sha256-',
      'blob:sha256-../../etc/passwd',
      `blob:sha256-${'Z'.repeat(64)}`,
    ])
      expect((await client.stream(method.readBlob, { uri }).status).code).toBe(status.INVALID_ARGUMENT);
    expect((await client.stream(method.readBlob, { uri: `blob:sha256-${'0'.repeat(64)}` }).status).code).toBe(
      status.NOT_FOUND,
    );
    expect((await client.refused(method.startCall, {})).code).toBe('INVALID_ARGUMENT');
    expect((await client.stream(method.streamCallTool, {}).status).code).toBe(status.INVALID_ARGUMENT);
    expect((await client.refused(method.searchTools, { query: 'q'.repeat(2_000) })).code).toBe(
      'INVALID_ARGUMENT',
    );
    expect((await client.refused(method.listTools, { names: Array(101).fill('*') })).code).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it('3.4: ten megabytes of arguments are RESOURCE_EXHAUSTED', async () => {
    const refused = await engine.client.refused(method.callTool, {
      name: 'echo',
      arguments: 'x'.repeat(10_000_000),
    });
    expect(refused.code).toBe('RESOURCE_EXHAUSTED');
    const stream = engine.client.duplex(method.streamCalls);
    stream.send({ calls: [{ name: 'echo', callId: 'huge', arguments: 'x'.repeat(10_000_000) }] });
    expect((await stream.status).code).toBe(status.RESOURCE_EXHAUSTED);
  });

  it('1.1: bytes that are no message, or text that is not UTF-8, are INVALID_ARGUMENT', async () => {
    for (const bytes of [[0xff], [0x0a, 0x02, 0xc3, 0x28], [0x0a, 0x7f]]) {
      const stream = engine.client.duplex(method.streamCalls);
      stream.sendBytes(new Uint8Array(bytes));
      expect(refusedOf(await stream.status)).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'malformed_message',
      });
    }
  });
});

describe('arguments that no schema fits', () => {
  const keys = (count: number) =>
    `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;
  it.each<[string, string, string]>([
    ['two megabytes', `{"x":"${'x'.repeat(2_097_152)}"}`, 'malformed'],
    ['a megabyte and a byte', `{"x":"${'x'.repeat(1_048_576 - 7)}"}`, 'malformed'],
    ['a megabyte', `{"x":"${'x'.repeat(1_048_576 - 8)}"}`, 'valid'],
    ['65 levels', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'malformed'],
    ['a hundred thousand levels', '{"a":'.repeat(100_000), 'malformed'],
    ['10,001 keys', keys(10_001), 'malformed'],
    ['9,999 keys', keys(9_999), 'valid'],
    ['a lone surrogate', '{"a":"\\ud800"}', 'malformed'],
    ['a number beyond all numbers', '{"a":1e999999}', 'valid'],
  ])('1.5: %s reach the worker whole, and are %s', async (_, args, kind) => {
    const verdict = await verdictOf(args);
    expect(verdict.kind).toBe(kind);
    expect(verdict.message.length).toBeLessThan(1_000);
  });

  it('1.9: names of a megabyte make no violation of a megabyte', async () => {
    const name = 'long-names';
    const inputSchemaJson = JSON.stringify({
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
    });
    const other = await engine.worker([{ name, inputSchemaJson }]);
    const inner = Array.from({ length: 30 }, (_, index) => `"${index}":1`).join(',');
    const calling = engine.client.call(method.callTool, {
      name,
      arguments: `{"${'n'.repeat(900_000)}":{${inner}}}`,
    });
    const { dispatch, leaseToken, execute } = await other.work();
    const violations = execute.input?.status.case === 'invalid' ? execute.input.status.value.violations : [];
    expect(violations.length).toBeGreaterThan(0);
    expect(JSON.stringify(violations).length).toBeLessThan(40_000);
    expect(JSON.stringify(dispatch.proposed).length).toBeLessThan(2_000);
    await other.answer(leaseToken, { case: 'accept', value: {} });
    expect((await calling).outcome.value).toMatchObject({ code: 'invalid_arguments' });
    other.vanish();
  });

  it('3.4: a request as large as a message costs its worker no stream', async () => {
    const name = 'large';
    const other = await engine.worker([{ name }]);
    const serving = answerAll(other, { case: 'accept', value: {} });
    const traceContext = { baggage: 'b'.repeat(16_000) };
    const codes: string[] = [];
    for (const size of [4_100_000, 4_140_000, 4_160_000, 4_170_000]) {
      const { outcome } = await engine.client.call(method.callTool, {
        name,
        arguments: 'é'.repeat(size / 2),
        traceContext,
      });
      codes.push(outcome.case === 'error' ? outcome.value.code : '');
    }
    expect(codes.at(0)).toBe('invalid_arguments');
    expect(codes.at(-1)).toBe('request_too_large');
    other.halfClose();
    expect((await other.status).code).toBe(status.OK);
    await serving;
  });
});
