import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectorState } from '../../src/connectors/connector-state.ts';
import { createConnectors } from '../../src/connectors/connectors.ts';
import type { ConnectorOptions } from '../../src/main.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { systemClock, systemRandom } from '../../src/system.ts';
import { connectedEngine, httpConnector } from './connected-engine.ts';
import { type Script, scriptedServer, TOOL } from './scripted-server.ts';

/** Connectors without an engine: the side of agents. */
async function connectorsTo(script: Script, options: Partial<ConnectorOptions> = {}) {
  const server = await scriptedServer(script);
  const set = createConnectors({
    connectors: { s: httpConnector(server.url, options) },
    stateOf: (id) => connectorState(undefined, id),
    clock: systemClock(),
    random: systemRandom(),
    observer: { report: () => undefined },
    schemas: createSchemas(),
    version: '1',
  });
  set.workers.listen({
    declared: async () => undefined,
    answered: () => undefined,
    rejected: () => undefined,
    progressed: () => undefined,
    modelDelta: () => undefined,
    lost: () => undefined,
    away: () => undefined,
    available: () => undefined,
  });
  onTestFinished(() => set.close());
  const lists = (): number => server.seen.filter(({ method }) => method === 'tools/list').length;
  return { ...set, server, lists };
}

describe('what a server offers to a session', () => {
  it('6.15: is fetched once a session', async () => {
    let version = 0;
    const { connectors, lists } = await connectorsTo({ tools: () => [{ ...TOOL, name: `v${version++}` }] });
    const first = await connectors.tools('default', 's', 'one');
    expect(first).toMatchObject({
      kind: 'tools',
      tools: [{ serverName: 'v0', definition: { tool: { name: 's__v0' } } }],
    });
    expect(await connectors.tools('default', 's', 'one')).toBe(first);
    expect(lists()).toBe(1);
    expect(await connectors.tools('default', 's', 'two')).toMatchObject({ tools: [{ serverName: 'v1' }] });
  });

  it('6.15: is not fetched again while the server says by itself when it changes', async () => {
    const { connectors, lists } = await connectorsTo({ capabilities: { tools: { listChanged: true } } });
    for (const session of ['one', 'two', 'three']) await connectors.tools('default', 's', session);
    expect(lists()).toBe(1);
  });

  it('6.15: is said to be missing where the server fails, and asked for again', async () => {
    let fails = true;
    const { connectors } = await connectorsTo({
      first({ status }) {
        if (fails) status(500);
        return fails;
      },
    });
    expect(await connectors.tools('default', 's', 'one')).toMatchObject({
      kind: 'failed',
      reason: expect.any(String),
    });
    fails = false;
    let again = 'failed';
    while (again === 'failed') {
      await new Promise(setImmediate);
      again = (await connectors.tools('default', 's', 'one')).kind;
    }
    expect(again).toBe('tools');
  });

  it.each([
    ['a connector that nobody configured', 'default', 'other'],
    ['the connector of another tenant', 'elsewhere', 's'],
  ])('9.3: is nothing for %s', async (_, tenant, id) => {
    const { connectors, workers } = await connectorsTo({});
    expect(await connectors.tools(tenant, id, 'one')).toMatchObject({ kind: 'failed' });
    await connectors.tools('default', 's', 'one');
    expect(workers.served('elsewhere')).toEqual([]);
    expect(workers.find('elsewhere', 's__work')).toBeUndefined();
  });

  it('keeps annotations, titles and icons, and says whether the hints are trusted', async () => {
    const tool = {
      ...TOOL,
      title: 'Work',
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      icons: [{ src: 'https://example.com/i.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' }],
      outputSchema: { type: 'object', properties: { n: { type: 'integer' } } },
    };
    const { connectors } = await connectorsTo({ tools: () => [tool] });
    const offered = await connectors.tools('default', 's', 'one');
    expect(offered).toMatchObject({
      tools: [
        {
          definition: {
            tool: {
              annotations: {
                title: 'Work',
                readOnly: true,
                destructive: false,
                idempotent: true,
                openWorld: false,
                untrusted: true,
              },
              icons: [
                { src: 'https://example.com/i.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' },
              ],
              outputSchemaJson: '{"type":"object","properties":{"n":{"type":"integer"}}}',
              namespace: 's',
            },
          },
        },
      ],
    });
  });
});

describe('an engine that is started again', () => {
  it('4.6: loses the calls that servers had, and makes others', async () => {
    const path = await mkdtemp(join(tmpdir(), 'spindle-connector-'));
    onTestFinished(() => rm(path, { recursive: true, force: true }));
    const journal = `sqlite:${join(path, 'spindle.db')}`;
    let answers = false;
    const server = await scriptedServer({
      call({ result }) {
        if (answers) result({ content: [{ type: 'text', text: 'done' }] });
      },
    });
    const connectors = { s: httpConnector(server.url) };
    const before = await connectedEngine(connectors, { journal });
    const { callId } = await before.client.start('s__work', {});
    await server.heard('tools/call');
    await before.engine.running.stop(0);
    answers = true;
    const after = await connectedEngine(connectors, { journal });
    const events = [];
    for await (const event of after.client.watch(callId)) events.push(event);
    expect(events.at(-1)).toMatchObject({ kind: 'finished', result: { error: { code: 'outcome_unknown' } } });
    expect(await after.client.call('s__work', {})).toMatchObject({ ok: true });
  });
});

describe('the slots of a connector', () => {
  it('5.4: are as many as configured, and further calls wait', async () => {
    const open: (() => void)[] = [];
    const server = await scriptedServer({
      call: ({ result }) => open.push(() => result({ content: [{ type: 'text', text: 'done' }] })),
    });
    const { client } = await connectedEngine({ s: httpConnector(server.url, { maxInFlight: 2 }) });
    const ids = await Promise.all(
      [1, 2, 3].map((n) => client.start('s__work', { n }).then(({ callId }) => callId)),
    );
    await server.heard('tools/call');
    const statuses = async () =>
      (await Promise.all(ids.map((id) => client.get(id)))).map(({ status }) => status);
    let running: number;
    do running = (await statuses()).filter((status) => status === 2).length;
    while (running < 2);
    expect(running).toBe(2);
    while (open.length < 2) await client.get(ids[0] ?? '');
    expect(open).toHaveLength(2);
    for (let done = 0; done < 3; ) {
      const next = open.shift();
      if (next === undefined) await client.get(ids[0] ?? '');
      else {
        next();
        done += 1;
      }
    }
    for (const id of ids) {
      let last: unknown;
      for await (const event of client.watch(id)) last = event;
      expect(last).toMatchObject({ kind: 'finished', result: { ok: true } });
    }
  });
});
