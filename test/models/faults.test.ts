import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Role } from '../../gen/spindle/v1/message_pb.ts';
import { millisOf } from '../../src/core/time.ts';
import { createModels } from '../../src/models/models.ts';
import { systemRandom } from '../../src/system.ts';
import { ask, message, OPENING, textPart } from './driver.ts';
import { KEY, KINDS, modelOf, SECRET_HEADER, serveProvider, settingsOf } from './providers.ts';
import { answer } from './wire/conversation.ts';

function pages(status: number, fields: Partial<Parameters<typeof answer>[0]> = {}) {
  return [answer({ status, ...fields })];
}

async function failureOf(kind: (typeof KINDS)[number], answers: ReturnType<typeof pages>) {
  await using served = await serveProvider(kind, answers);
  const given = await ask(served.models, modelOf(kind));
  if (given.kind === 'response') throw new Error('it answered');
  expect(served.server.requests).toHaveLength(1);
  return given.failure;
}

describe.each(KINDS)('4.8: what %s answers', (kind) => {
  it.each([
    ['400', pages(400), 'provider_error', false],
    ['401', pages(401), 'provider_error', false],
    ['403', pages(403), 'provider_error', false],
    ['404', pages(404), 'provider_error', false],
    ['408', pages(408), 'provider_error', true],
    ['429', pages(429), 'rate_limited', true],
    ['500', pages(500), 'provider_error', true],
    ['503', pages(503), 'provider_error', true],
    ['529', pages(529), 'provider_error', true],
    ['413', pages(413), 'context_overflow', false],
    ['a page of HTML', pages(502, { body: '<html>Bad gateway</html>' }), 'provider_error', true],
    ['an error without a body', pages(500, { body: '' }), 'provider_error', true],
    ['200 that is no stream', pages(200, { body: '{"oh":"no"}' }), 'provider_error', true],
  ] as const)('%s', async (_, answers, code, retryable) => {
    expect(await failureOf(kind, [...answers])).toMatchObject({ code, retryable });
  });

  it.each([
    ['prompt is too long: 210000 tokens > 200000 maximum', 'context_overflow'],
    ["This model's maximum context length is 128000 tokens.", 'context_overflow'],
    [
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'context_overflow',
    ],
    ['the request exceeds the available context size', 'context_overflow'],
    ['The response was filtered due to the prompt triggering the content filter', 'refused'],
    ['Invalid schema for function', 'provider_error'],
  ])('400 with the words: %s', async (words, code) => {
    const body = JSON.stringify({
      type: 'error',
      error: { message: words, type: 'invalid_request_error', code: 400 },
    });
    const problem = await failureOf(kind, pages(400, { body }));
    expect(problem).toMatchObject({ code, retryable: false });
    expect(problem.message).toContain(words.slice(0, 40));
  });

  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ date: 'Mon, 30 Nov 2026 10:00:00 GMT', 'retry-after': 'Mon, 30 Nov 2026 10:00:30 GMT' }, 30_000],
    [{ 'retry-after': '999999999' }, 3_600_000],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('says when to come back: %j', async (headers, wait) => {
    for (const status of [429, 503]) {
      const { retryAfter } = await failureOf(
        kind,
        pages(status, { headers: headers as Record<string, string> }),
      );
      expect(retryAfter && millisOf(retryAfter)).toBe(wait);
    }
  });

  it('that breaks off half way, or tells of an error, is a failure that may be retried', async () => {
    const whole = { text: ['One, ', 'two, ', 'three.'] };
    for (const fields of [{ cut_after: 2 }, { error_after: 3 }]) {
      expect(await failureOf(kind, [answer({ ...whole, ...fields })])).toMatchObject({
        code: 'provider_error',
        retryable: true,
      });
    }
  });

  it('is not waited for longer than the configuration says', async () => {
    await using served = await serveProvider(kind, [answer({ text: ['…'], hang_after: 1 })], {
      settings: { timeoutMs: 50 },
    });
    const given = await ask(served.models, modelOf(kind));
    expect(given).toMatchObject({ kind: 'failure', failure: { code: 'provider_error', retryable: true } });
    await served.server.closed;
  });

  it('is not read any more once the call is cancelled: the request is closed', async () => {
    await using served = await serveProvider(kind, [answer({ text: ['One, ', 'two.'], hang_after: 2 })]);
    const stop = new AbortController();
    const asked = ask(served.models, modelOf(kind), { signal: stop.signal });
    await served.server.hanging;
    stop.abort();
    await asked;
    await served.server.closed;
  });

  it('9.4: holds no key and no header, however it quotes them', async () => {
    const quotes = `${KEY} and ${SECRET_HEADER} and sk-proj-abcd1234efgh5678 and sk-12345678***********wxyz`;
    const body = JSON.stringify({
      type: 'error',
      error: { message: quotes, type: 'authentication_error', code: 401 },
    });
    const problem = await failureOf(kind, pages(401, { body }));
    const told = JSON.stringify(problem, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    expect(told).toContain('TEST_KEY');
    for (const secret of [KEY, SECRET_HEADER, 'abcd1234', 'wxyz']) expect(told).not.toContain(secret);
  });
});

describe('a provider that cannot be reached', () => {
  it.each(KINDS)('%s: is a failure that may be retried', async (kind) => {
    const gone = await serveProvider(kind, []);
    await gone.server.stop();
    const given = await ask(gone.models, modelOf(kind));
    expect(given).toMatchObject({ kind: 'failure', failure: { code: 'provider_error', retryable: true } });
    expect(given.kind === 'failure' && given.failure.message).toMatch(/ECONNREFUSED/);
  });
});

describe('9.4: a URL of a provider that holds secrets', () => {
  it.each(KINDS)('%s: is not quoted with them', async (kind) => {
    const baseUrl = 'http://user-sentinel:pass%2Dsentinel@127.0.0.1:9/v1?token=query-sentinel';
    await using served = await serveProvider(kind, [], { settings: { baseUrl } });
    const given = await ask(served.models, modelOf(kind));
    expect(given.kind).toBe('failure');
    const told = given.kind === 'failure' ? given.failure.message : '';
    expect(told).toContain('The provider');
    expect(told).not.toContain('sentinel');
  });
});

describe('the account', () => {
  it.each(['openai', 'openai-chat'] as const)('%s: that has no credit is not asked again', async (kind) => {
    const body = JSON.stringify({
      error: {
        message: 'You exceeded your current quota',
        type: 'insufficient_quota',
        code: 'insufficient_quota',
      },
    });
    expect(await failureOf(kind, pages(429, { body }))).toMatchObject({
      code: 'rate_limited',
      retryable: false,
    });
  });
});

describe('google', () => {
  it('says in the body when to come back', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12.5s' }];
    const body = JSON.stringify({
      error: { code: 429, message: 'quota', status: 'RESOURCE_EXHAUSTED', details },
    });
    const { retryAfter } = await failureOf('google', pages(429, { body }));
    expect(retryAfter && millisOf(retryAfter)).toBe(12_500);
  });

  it('whose library refuses keys of prototypes in arguments, ends the call with a clear error', async () => {
    const calls = [{ id: 'c1', name: 'look', arguments: ['{"__proto__":{"x":1}}'] }];
    expect(await failureOf('google', [answer({ calls, finish: 'calls' })])).toMatchObject({
      code: 'provider_error',
      retryable: true,
    });
  });
});

describe('settings that an agent gives', () => {
  it.each([
    ['{', /is no JSON text/],
    ['{"temprature":1}', /no such setting: temprature \(there are max_output_tokens, /],
    ['{"temperature":"hot"}', /temperature: /],
  ])('%s end the call before anything is sent', async (settings, words) => {
    await using served = await serveProvider('anthropic', []);
    const given = await ask(served.models, modelOf('anthropic'), { settings });
    expect(given).toMatchObject({ kind: 'failure', failure: { code: 'provider_error', retryable: false } });
    expect(given.kind === 'failure' && given.failure.message).toMatch(words);
    expect(served.server.requests).toHaveLength(0);
  });

  it.each(KINDS)('%s: reach the provider', async (kind) => {
    await using served = await serveProvider(kind, [answer({ text: ['hi'] })]);
    // A model that takes a temperature: those that reason do not.
    const model = kind === 'openai' ? 'openai/gpt-4.1' : modelOf(kind);
    await ask(served.models, model, { settings: '{"temperature":0.25,"max_output_tokens":321}' });
    const sent = JSON.stringify(served.server.requests[0]?.body);
    expect(sent).toMatch(/"temperature":0\.25/);
    expect(sent).toMatch(/:321/);
  });
});

describe('the bytes of a conversation', () => {
  it('that the store does not have, or that are too many, are named to the model', async () => {
    const missing = `sha256-${createHash('sha256').update('gone').digest('hex')}`;
    const large = `sha256-${createHash('sha256').update('large').digest('hex')}`;
    const picture = (digest: string, size: number) => ({
      kind: {
        case: 'content' as const,
        value: {
          kind: {
            case: 'blob' as const,
            value: { uri: `blob:${digest}`, mimeType: 'image/png', sizeBytes: BigInt(size) },
          },
        },
      },
    });
    const messages = [
      ...OPENING,
      message(Role.USER, picture(missing, 10), picture(large, 6 * 1024 * 1024), textPart('see?')),
    ];
    await using served = await serveProvider('anthropic', [answer({ text: ['no'] })], {
      blobs: new Map([[large, new Uint8Array(8)]]),
    });
    expect(await ask(served.models, modelOf('anthropic'), { messages })).toMatchObject({ kind: 'response' });
    const sent = JSON.stringify(served.server.requests[0]?.body);
    expect(sent).toContain(`[blob:${missing}, image/png, 10 bytes, not shown]`);
    expect(sent).toContain(`[blob:${large}, image/png, 6291456 bytes, not shown]`);
  });
});

describe('a store that cannot be read', () => {
  const digest = `sha256-${createHash('sha256').update('x').digest('hex')}`;
  const value = { uri: `blob:${digest}`, mimeType: 'image/png', sizeBytes: 4n };
  const picture = { kind: { case: 'content' as const, value: { kind: { case: 'blob' as const, value } } } };
  const broken = (name: string) =>
    createModels({
      providers: { anthropic: settingsOf('anthropic', 'http://127.0.0.1:1') },
      blobs: { read: () => Promise.reject(Object.assign(new Error('no'), { name })) },
      random: systemRandom(),
      observer: { report: () => undefined },
    });
  const messages = [message(Role.USER, picture)];

  it('ends the attempt with a failure that may be retried; a bug is none', async () => {
    const given = await ask(broken('JournalError'), modelOf('anthropic'), { messages });
    expect(given).toMatchObject({ kind: 'failure', failure: { code: 'internal', retryable: true } });
    await expect(ask(broken('TypeError'), modelOf('anthropic'), { messages })).rejects.toThrow('no');
  });
});

describe('whatever bytes a provider streams', () => {
  it('the call ends with an answer or a failure', async () => {
    const junk = fc.oneof(
      fc.constantFrom(
        'data: {}\n\n',
        'data: null\n\n',
        'data: [DONE]\n\n',
        'event: error\ndata: 1\n\n',
        'data: {"choices":[{}]}\n\n',
      ),
      fc.constantFrom(
        'data: {"choices":[{"delta":{"tool_calls":[{}]}}]}\n\n',
        'data: {"type":"content_block_stop","index":7}\n\n',
      ),
      fc.constantFrom(
        'data: {"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}\n\n',
        'data: {"type":"response.output_item.done"}\n\n',
      ),
      fc.string({ maxLength: 40 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...KINDS), fc.array(junk, { maxLength: 6 }), async (kind, pieces) => {
        const body = pieces.join('');
        const headers = { 'content-type': 'text/event-stream' };
        await using served = await serveProvider(kind, [
          answer({ status: 200, headers, body: body || '\n' }),
        ]);
        const given = await ask(served.models, modelOf(kind));
        expect(['response', 'failure']).toContain(given.kind);
        await setImmediate();
      }),
      { numRuns: 150 },
    );
  });
});
