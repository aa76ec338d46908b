import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { describe, expect, it } from 'vitest';
import { Role } from '../../gen/spindle/v1/message_pb.ts';
import { SessionService } from '../../gen/spindle/v1/session_service_pb.ts';
import type { ModelRequest } from '../../gen/spindle/v1/trigger_pb.ts';
import { createScriptedModel, type Script } from '../../src/models/scripted.ts';
import { connectedEngine, httpConnector } from './connected-engine.ts';
import { type ScriptedServer, scriptedServer, TOOL } from './scripted-server.ts';

/** What a ConnectorUse may say beside its connector. */
interface Filters {
  readonly include?: string[];
  readonly exclude?: string[];
  readonly readOnly?: boolean;
  readonly nonDestructive?: boolean;
  readonly idempotent?: boolean;
}

/** One turn of an agent that uses a connector: what its model was asked, and what it answered. */
async function turnWith(server: Pick<ScriptedServer, 'url'>, answers: Script['answers'], use: Filters = {}) {
  const scripted = createScriptedModel({ answers });
  const requests: ModelRequest[] = [];
  const { engine } = await connectedEngine(
    { s: httpConnector(server.url) },
    {
      agents: { helper: { model: 'test/one', connectors: [{ connectorId: 's', ...use }] } },
      models: {
        test: {
          call(call) {
            requests.push(call.request);
            return scripted.call(call);
          },
        },
      },
    },
  );
  const sessions = createClient(
    SessionService,
    createConnectTransport({ baseUrl: engine.url, httpVersion: '1.1' }),
  );
  const { session } = await sessions.createSession({ agentId: 'helper' });
  const sessionId = session?.sessionId ?? '';
  const content = { kind: { case: 'text' as const, value: { text: 'go' } } };
  const parts = [{ kind: { case: 'content' as const, value: content } }];
  const input = { kind: { case: 'messages' as const, value: { messages: [{ role: Role.USER, parts }] } } };
  for await (const { update } of sessions.runTurn({ turn: { sessionId, input } }))
    expect(update).toBeDefined();
  const { messages } = await sessions.getSession({ sessionId, includeMessages: true });
  const offered = requests.map(({ tools }) => tools.map(({ name }) => name));
  return { offered, requests, messages };
}

describe('an agent that uses a connector', () => {
  it('6.15: is offered the tools of its server, and its calls reach them', async () => {
    const server = await scriptedServer({});
    const { offered, messages } = await turnWith(server, [
      { calls: [{ name: 's__work', arguments: { n: 1 } }] },
      'all done',
    ]);
    expect(offered).toEqual([['s__work'], ['s__work']]);
    expect((await server.heard('tools/call')).params).toMatchObject({ name: 'work', arguments: { n: 1 } });
    expect(messages.map(({ role }) => role)).toEqual([Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]);
    expect(JSON.stringify(messages[2]?.parts[0]?.kind.value)).toContain('done');
    expect(server.seen.filter(({ method }) => method === 'tools/list')).toHaveLength(1);
  });

  it.each<[string, Filters, string[]]>([
    ['include', { include: ['get_*'] }, ['s__get_a', 's__get_b']],
    ['exclude', { exclude: ['*_b'] }, ['s__get_a', 's__put_a']],
    ['both', { include: ['get_*'], exclude: ['*_b'] }, ['s__get_a']],
    ['read_only', { readOnly: true }, ['s__get_a']],
    ['non_destructive', { nonDestructive: true }, ['s__get_a', 's__put_a']],
    ['idempotent', { idempotent: true }, ['s__get_a']],
  ])('6.15: is offered less by %s', async (_, use, names) => {
    const server = await scriptedServer({
      tools: () => [
        { ...TOOL, name: 'get_a', annotations: { readOnlyHint: true } },
        { ...TOOL, name: 'get_b' },
        { ...TOOL, name: 'put_a', annotations: { destructiveHint: false } },
      ],
    });
    const { offered } = await turnWith(server, ['nothing to do'], use);
    expect(offered).toEqual([names]);
  });

  it('6.15: goes on without the tools of a server that fails', async () => {
    const server = await scriptedServer({
      first({ status }) {
        status(500);
        return true;
      },
    });
    const { offered, messages } = await turnWith(server, ['without tools, then']);
    expect(offered).toEqual([[]]);
    expect(messages.at(-1)?.role).toBe(Role.ASSISTANT);
  });
});
