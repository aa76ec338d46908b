import { create } from '@bufbuild/protobuf';
import { type Answer, AnswerSchema, RejectSchema } from '../../gen/spindle/v1/worker_service_pb.ts';
import { MAX_CONNECTOR_SESSIONS } from '../core/limits.ts';
import { unreachable } from '../core/unreachable.ts';
import type { Connectors, ConnectorTools, WorkerRef, WorkersListener } from '../engine/ports.ts';
import { type Connector, type ConnectorPorts, type ConnectorState, createConnector } from './connector.ts';
import type { ConnectorWorkers } from './joined-workers.ts';
import type { ConnectorOptions } from './options.ts';
import { createRuns, type RunEnd } from './runs.ts';

export interface ConnectorsOptions extends Omit<ConnectorPorts, 'listener' | 'takenBy'> {
  readonly connectors: Readonly<Record<string, ConnectorOptions>>;
  /** What is kept about each connector. */
  readonly stateOf: (connectorId: string) => ConnectorState;
}

/** Every configured MCP server. */
export interface ConnectorSet {
  /** The side of agents: what a server offers. */
  readonly connectors: Connectors;
  /** The side of calls. */
  readonly workers: ConnectorWorkers;
  /** Connects to every server, without waiting for any. After the engine listens. */
  start(): void;
  /** Ends every connection. Calls that still run are lost, as with an engine that ends. */
  close(): Promise<void>;
}

interface Holding {
  readonly connector: Connector;
  readonly tenant: string;
  readonly serverName: string;
}

export function createConnectors({
  connectors: configured,
  stateOf,
  ...shared
}: ConnectorsOptions): ConnectorSet {
  const { observer } = shared;
  let listener: WorkersListener | undefined;
  const heard = (): WorkersListener => {
    if (listener === undefined) throw new Error('connectors start after the engine listens to them');
    return listener;
  };
  const byId = new Map<string, Connector>();
  const ports: ConnectorPorts = {
    ...shared,
    listener: heard,
    takenBy: (id, toolName) =>
      [...byId.values()].find((other) => other.id !== id && other.tool(toolName) !== undefined)?.id,
  };
  for (const [id, options] of Object.entries(configured))
    byId.set(id, createConnector(id, options, stateOf(id), ports));

  const holdings = new Map<string, Holding>();
  /** What each session was given, the longest unused first. */
  const sessions = new Map<string, Promise<ConnectorTools>>();

  const offering = (tenant: string, toolName: string): Connector | undefined => {
    for (const connector of byId.values()) {
      if (connector.tenants.includes(tenant) && connector.tool(toolName) !== undefined) return connector;
    }
    return undefined;
  };

  const free = (leaseToken: string): Holding | undefined => {
    const holding = holdings.get(leaseToken);
    holdings.delete(leaseToken);
    holding?.connector.release(leaseToken);
    return holding;
  };

  const runs = createRuns({
    progressed: ({ tenant, connector }, progress) =>
      heard().progressed({ tenant, instanceId: connector.instanceId }, progress),
    ended(leaseToken, end) {
      const holding = free(leaseToken);
      if (holding === undefined) return;
      const from = { tenant: holding.tenant, instanceId: holding.connector.instanceId };
      tell(leaseToken, end, from);
      heard().available(holding.tenant);
    },
    failed: (error) =>
      observer.report('error', 'handler_failed', {
        method: 'connector call',
        error: error instanceof Error ? error.name : typeof error,
      }),
  });

  const tell = (leaseToken: string, end: RunEnd, from: WorkerRef): void => {
    if (end.kind === 'lost') heard().lost(from, leaseToken, 'lost');
    else if (end.kind === 'unreached')
      heard().rejected(from, create(RejectSchema, { leaseToken, reason: end.reason }));
    else heard().answered(from, create(AnswerSchema, { leaseToken, outcome: outcomeOf(end) }));
  };

  const fetchFor = async (connector: Connector, key: string): Promise<ConnectorTools> => {
    const tools = await connector.tools();
    // A session that was given nothing asks again in its next iteration.
    if (tools.kind === 'failed') sessions.delete(key);
    return tools;
  };

  return {
    connectors: {
      async tools(tenant, connectorId, sessionId) {
        const connector = byId.get(connectorId);
        if (!connector?.tenants.includes(tenant)) {
          return { kind: 'failed', reason: `no connector ${JSON.stringify(connectorId)} is configured` };
        }
        const key = JSON.stringify([tenant, sessionId, connectorId]);
        const given = sessions.get(key) ?? fetchFor(connector, key);
        sessions.delete(key);
        sessions.set(key, given);
        const [oldest] = sessions.keys();
        if (sessions.size > MAX_CONNECTOR_SESSIONS && oldest !== undefined) sessions.delete(oldest);
        return given;
      },
    },
    workers: {
      offers: (tenant, toolName) => offering(tenant, toolName) !== undefined,
      holds: (leaseToken) => holdings.has(leaseToken),
      find: (tenant, toolName) => offering(tenant, toolName)?.tool(toolName)?.definition,
      knows: (tenant, digest) =>
        [...byId.values()].some(({ tenants, knows }) => tenants.includes(tenant) && knows(digest)),
      served: (tenant) =>
        [...byId.values()].flatMap(({ tenants, served }) => (tenants.includes(tenant) ? served() : [])),
      reserve(tenant, toolName, sessionId) {
        const connector = offering(tenant, toolName);
        const reservation = connector?.reserve(toolName, sessionId);
        const serverName = connector?.tool(toolName)?.serverName;
        if (connector === undefined || reservation === undefined || serverName === undefined)
          return undefined;
        holdings.set(reservation.leaseToken, { connector, tenant, serverName });
        return reservation;
      },
      release(leaseToken) {
        const holding = free(leaseToken);
        if (holding !== undefined) heard().available(holding.tenant);
      },
      dispatch(leaseToken, dispatch) {
        const holding = holdings.get(leaseToken);
        if (holding !== undefined) runs.start({ ...holding, leaseToken, dispatch });
      },
      stop(leaseToken) {
        if (runs.stop(leaseToken)) return;
        const holding = free(leaseToken);
        if (holding !== undefined) heard().available(holding.tenant);
      },
      expect(leases) {
        // What an earlier process had begun died with it. Told behind this, when every session has been taken up.
        queueMicrotask(() => {
          for (const { leaseToken, tenant, instanceId } of leases)
            heard().lost({ tenant, instanceId }, leaseToken, 'lost');
        });
      },
      listen(engine) {
        listener = engine;
      },
    },
    start() {
      for (const { connection } of byId.values()) {
        connection.open().catch((error: unknown) => {
          observer.report('error', 'handler_failed', { method: 'connector', error: String(error) });
        });
      }
    },
    async close() {
      runs.abandon();
      await Promise.all([...byId.values()].map((connector) => connector.close()));
    },
  };
}

/** What a worker would answer. */
function outcomeOf(end: Exclude<RunEnd, { kind: 'lost' | 'unreached' }>): Answer['outcome'] {
  switch (end.kind) {
    case 'accept':
      return { case: 'accept', value: { $typeName: 'spindle.v1.AcceptProposal' } };
    case 'result':
      return { case: 'result', value: end.result };
    case 'failure':
      return { case: 'error', value: end.failure };
    case 'cancelled':
      return { case: 'cancelled', value: { $typeName: 'spindle.v1.Cancelled' } };
    default:
      return unreachable(end);
  }
}
