import { createClient } from 'spindle';
import { createWorker, defineTool, image } from 'spindle/worker';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine } from '../../src/main.ts';
import type { ProviderKind, ProviderSettings } from '../../src/models/provider-settings.ts';
import { KEY, KINDS, modelOf, SECRET_HEADER, settingsOf, wireOf } from '../models/providers.ts';
import { type Answer, answer, readConversation } from '../models/wire/conversation.ts';
import { serveWire } from '../models/wire/server.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const look = defineTool({
  name: 'look',
  description: 'Looks at the weather.',
  schema: z.object({ where: z.string() }),
  execute: ({ where }) => {
    if (where === 'Rome') throw new Error('Rome is closed.');
    return where === 'Lima' ? image(PNG, 'image/png') : `Rain in ${where}.`;
  },
});
const odd = defineTool({ name: 'files.read', description: 'Reads.', execute: () => 'read' });

/** An engine whose only model is a provider of this kind that answers as told; a worker; a client. */
async function world(
  kind: ProviderKind,
  answers: readonly Answer[],
  settings: Partial<ProviderSettings> = {},
) {
  const server = await serveWire(wireOf(kind), answers);
  cleanups.push(() => server.stop());
  const reports: unknown[] = [];
  const engine = await createEngine({
    journal: 'memory:',
    listen: '127.0.0.1:0',
    http: false,
    providers: { [kind]: { ...settingsOf(kind, server.url), ...settings } },
    agents: { helper: { model: modelOf(kind), system: 'Be brief.', useTools: ['*'] } },
    retry: { model: { initialBackoff: { nanos: 1_000_000 }, maxBackoff: { nanos: 1_000_000 } } },
    observer: { report: (...report) => reports.push(report) },
  });
  cleanups.push(() => engine.stop(0));
  const worker = createWorker({ address: engine.grpcAddress, tools: [look, odd] });
  const running = worker.run();
  cleanups.push(async () => {
    await worker.stop();
    await running;
  });
  await worker.ready;
  const client = createClient({ address: engine.grpcAddress });
  cleanups.push(async () => client.close());
  return { server, client, reports };
}

describe.each(KINDS)('a turn with %s', (kind) => {
  it('6.1, 6.7: makes its calls at once, tells the model of results, errors and pictures, and answers', async () => {
    const { server, client } = await world(kind, [
      answer({
        finish: 'calls',
        calls: [
          { id: 'c1', name: 'look', arguments: ['{"where":', '"Oslo"}'] },
          { id: 'c2', name: 'look', arguments: ['{"where":"Rome"}'] },
          { id: 'c3', name: 'look', arguments: ['{"where":"Lima"}'] },
          { id: 'c4', name: 'files_read', arguments: ['{}'] },
          { id: 'c5', name: 'invented', arguments: ['{"a":1}'] },
        ],
      }),
      answer({
        text: ['Rain, closed, a picture.'],
        usage: { input: 100, output: 20, cached: 0, reasoning: 0 },
      }),
    ]);
    const result = await client.sessions.run('helper', 'How is the weather?');
    expect(result).toMatchObject({ ok: true, text: 'Rain, closed, a picture.', iterations: 2 });
    expect(server.requests).toHaveLength(2);
    const sent = JSON.stringify(server.requests[1]?.body);
    for (const words of ['Rain in Oslo.', 'Rome is closed.', PNG.toString('base64'), 'invented'])
      expect(sent).toContain(words);
  });

  it('6.5: goes on after ids that two calls share, and arguments that are none', async () => {
    const broken = kind === 'google' ? '{"nowhere":1}' : '{"where":"Os';
    const { server, client } = await world(kind, [
      answer({
        finish: 'calls',
        calls: [
          { id: 'c1', name: 'look', arguments: [broken] },
          { id: 'c1', name: 'look', arguments: ['{"where":"Oslo"}'] },
        ],
      }),
      answer({ finish: 'calls', calls: [{ id: 'c1', name: 'look', arguments: ['{"where":"Oslo"}'] }] }),
      answer({ text: ['Rain.'] }),
    ]);
    expect(await client.sessions.run('helper', 'How is the weather?')).toMatchObject({
      ok: true,
      text: 'Rain.',
    });
    expect(server.requests).toHaveLength(3);
  });

  it('4.8: tries again what may pass, and ends with the failure that does not', async () => {
    const { server, client, reports } = await world(kind, [
      answer({ status: 503 }),
      answer({ text: ['One, ', 'two, '], cut_after: 2 }),
      answer({ text: ['Three.'] }),
      answer({
        status: 401,
        body: JSON.stringify({ error: { message: `bad key ${KEY} ${SECRET_HEADER}`, code: 401 } }),
      }),
    ]);
    expect(await client.sessions.run('helper', 'Count.')).toMatchObject({ ok: true, text: 'Three.' });
    const refused = await client.sessions.run('helper', 'Again.');
    expect(refused).toMatchObject({ ok: false, status: 'failed', error: { code: 'provider_error' } });
    expect(server.requests).toHaveLength(4);
    for (const secret of [KEY, SECRET_HEADER])
      expect(JSON.stringify([refused, reports])).not.toContain(secret);
  });
});

describe.each(['anthropic', 'openai', 'google'] as const)('reasoning of %s', (kind) => {
  it('7.5: goes through the record and back, signature and all', async () => {
    const { server, client } = await world(kind, readConversation('reasoning').answers);
    const first = await client.sessions.run('helper', 'How is the weather?');
    expect(first).toMatchObject({ ok: true, text: 'Rain.' });
    expect(await client.sessions.run('helper', 'Again?', { sessionId: first.sessionId })).toMatchObject({
      ok: true,
    });
    const last = JSON.stringify(server.requests[2]?.body);
    for (const signature of ['sig-1', 'sig-2']) expect(last).toContain(signature);
  });
});

describe('a turn whose model has no key', () => {
  it('ends before anything is sent, and says what to do', async () => {
    const { server, client } = await world('anthropic', [], { readApiKey: () => undefined });
    const result = await client.sessions.run('helper', 'Hi').catch((error: unknown) => error);
    expect(JSON.stringify(result) + String(result)).toContain(
      'set TEST_KEY in the environment of the engine',
    );
    expect(server.requests).toHaveLength(0);
  });
});
