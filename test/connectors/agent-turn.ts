import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { expect } from 'vitest';
import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import { Role } from '../../gen/spindle/v1/message_pb.ts';
import { SessionService } from '../../gen/spindle/v1/session_service_pb.ts';
import type { ModelRequest } from '../../gen/spindle/v1/trigger_pb.ts';
import type { EngineOptions } from '../../src/main.ts';
import { createScriptedModel, type Script } from '../../src/models/scripted.ts';
import { connectedEngine, httpConnector } from './connected-engine.ts';
import type { ScriptedServer } from './scripted-server.ts';

/** What a ConnectorUse may say beside its connector. */
export interface Filters {
  readonly include?: string[];
  readonly exclude?: string[];
  readonly readOnly?: boolean;
  readonly nonDestructive?: boolean;
  readonly idempotent?: boolean;
}

/** One turn of an agent that uses a connector: what its model was asked, and what it answered. */
export async function turnWith(
  server: Pick<ScriptedServer, 'url'>,
  answers: Script['answers'],
  use: Filters = {},
  { system = '', ...options }: EngineOptions & { readonly system?: string } = {},
) {
  const scripted = createScriptedModel({ answers });
  const requests: ModelRequest[] = [];
  const { engine } = await connectedEngine(
    { s: httpConnector(server.url) },
    {
      agents: { helper: { model: 'test/one', system, connectors: [{ connectorId: 's', ...use }] } },
      ...options,
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
  const events: SessionEvent[] = [];
  for await (const { update } of sessions.watchSession({ sessionId, recordedOnly: true }))
    if (update?.kind.case === 'event') events.push(update.kind.value);
  const { messages } = await sessions.getSession({ sessionId, includeMessages: true });
  const offered = requests.map(({ tools }) => tools.map(({ name }) => name));
  return { engine, offered, requests, messages, events };
}
