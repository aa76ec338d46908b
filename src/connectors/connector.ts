import { CONNECTOR_INSTANCE_PREFIX } from '../core/connector-instance.ts';
import { CONNECTOR_IN_FLIGHT, CONNECTOR_REFRESH_MS, MAX_MESSAGE_BYTES } from '../core/limits.ts';
import { leaseTokenOf } from '../core/session.ts';
import type {
  Clock,
  ConnectorTool,
  ConnectorTools,
  Observer,
  Random,
  Reservation,
  Served,
  WorkersListener,
} from '../engine/ports.ts';
import type { Definition } from '../schema/definition.ts';
import type { Schemas } from '../schema/schemas.ts';
import { type Connection, createConnection, type Link } from './connection.ts';
import type { CredentialStore } from './credential-store.ts';
import { offersOf, type Withheld } from './offers.ts';
import type { ConnectorOptions } from './options.ts';
import { type PinStore, type Pins, pinsOf } from './pins.ts';
import type { ServedTool } from './served-tool.ts';
import { fetchToolList } from './tool-list.ts';
import { messageOf } from './words.ts';

/** What the connectors of one engine share. */
export interface ConnectorPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
  readonly schemas: Schemas;
  readonly version: string;
  /** The engine, once it listens. */
  readonly listener: () => WorkersListener;
  /** Who else has a name already; undefined where it is free. */
  readonly takenBy: (connectorId: string, toolName: string) => string | undefined;
}

export interface ConnectorState {
  readonly pins: PinStore;
  readonly credentials: CredentialStore;
}

/** One MCP server, its tools, and the slots for its calls. */
export interface Connector {
  readonly id: string;
  readonly connection: Connection;
  readonly tenants: readonly string[];
  /** Names this process of the engine as the one that runs the calls. */
  readonly instanceId: string;
  /** The tool of this name, also while the server is away: calls wait for it. */
  tool(toolName: string): ConnectorTool | undefined;
  knows(digest: string): boolean;
  served(): Served[];
  /** Takes a slot; undefined where none is free, or the server is away. */
  reserve(toolName: string, sessionId: string): Reservation | undefined;
  release(leaseToken: string): void;
  /** What the server offers now: asked for, unless it says by itself when that changes. Never rejects. */
  tools(): Promise<ConnectorTools>;
  close(): Promise<void>;
}

export function createConnector(
  id: string,
  options: ConnectorOptions,
  { pins, credentials }: ConnectorState,
  ports: ConnectorPorts,
): Connector {
  const { clock, random, observer, schemas, version } = ports;
  const { prefix = true, trusted = false, pinned = false, maxInFlight = CONNECTOR_IN_FLIGHT } = options;
  const tenants = options.tenants ?? ['default'];
  const instanceId = `${CONNECTOR_INSTANCE_PREFIX}${id}/${random.token()}`;
  const leases = new Set<string>();
  let offers = new Map<string, ConnectorTool>();
  /** The list is the server's of now, as far as it has said. */
  let current = false;
  let refreshing: Promise<ConnectorTools> | undefined;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshDue = false;
  let reported = new Set<string>();

  const connection = createConnection({
    transport: options.transport,
    store: credentials,
    version,
    clock,
    random,
    opened(link) {
      observer.report('info', 'connector_connected', { connector: id });
      refreshInBackground(link);
    },
    closed(reason) {
      current = false;
      observer.report('warn', 'connector_failed', { connector: id, reason });
      for (const tenant of tenants) ports.listener().available(tenant);
    },
    listChanged() {
      current = false;
      if (refreshDue) return;
      refreshDue = true;
      // A server that changes its list all the time is asked for it now and then.
      clock.alarm(Math.max(clock.now(), refreshedAt + CONNECTOR_REFRESH_MS), () => {
        refreshDue = false;
        const link = connection.link();
        if (link !== undefined) refreshInBackground(link);
      });
    },
    refusedRequest(method) {
      observer.report('info', 'connector_request_refused', {
        connector: id,
        method: connection.words(method),
      });
    },
  });

  /** Approvals so far. The first list that a pinned connector shows is approved as it is. */
  const approved = async (usable: readonly ServedTool[]): Promise<Pins | undefined> => {
    if (!pinned) return undefined;
    const known = await pins.read();
    if (known !== undefined) return known;
    const first = pinsOf(usable);
    await pins.write(first);
    observer.report('info', 'connector_pinned', { connector: id, tools: first.size });
    return first;
  };

  const tell = (withheld: readonly Withheld[], tools: readonly ConnectorTool[]): void => {
    const said = new Set<string>();
    const once = (key: string, report: () => void): void => {
      if (!reported.has(key)) report();
      said.add(key);
    };
    for (const { name, reason, held } of withheld) {
      const facts = { connector: id, tool: connection.words(name), reason: connection.words(reason) };
      once(`${name}\n${reason}`, () => {
        if (held) observer.report('warn', 'connector_tool_held', facts);
        else observer.report('warn', 'tool_refused', facts);
      });
    }
    for (const { definition } of tools) {
      for (const remark of definition.remarks) {
        const facts = { connector: id, tool: definition.tool.name, remark: connection.words(remark) };
        once(`${definition.tool.name}\n${remark}`, () => observer.report('info', 'tool_remark', facts));
      }
    }
    reported = said;
  };

  const fetchOffers = async (link: Link): Promise<ConnectorTools> => {
    const naming = { connectorId: id, prefix, trusted, schemas };
    const takenBy = (toolName: string): string | undefined => ports.takenBy(id, toolName);
    const listed = await fetchToolList(link.client);
    const every = offersOf(listed, { ...naming, takenBy, pins: undefined });
    const pinsNow = await approved(every.usable);
    const { tools, withheld } =
      pinsNow === undefined ? every : offersOf(listed, { ...naming, takenBy, pins: pinsNow });
    const definitions = tools.map(({ definition }) => definition);
    for (const tenant of tenants) await ports.listener().declared(tenant, definitions);
    if (connection.link() !== link) return { kind: 'failed', reason: 'the connection broke meanwhile' };
    tell(withheld, tools);
    offers = new Map(tools.map((tool) => [tool.definition.tool.name, tool]));
    for (const tenant of tenants) ports.listener().available(tenant);
    return { kind: 'tools', tools };
  };

  const refresh = (link: Link): Promise<ConnectorTools> => {
    refreshing ??= (async () => {
      current = true;
      refreshedAt = clock.now();
      try {
        return await fetchOffers(link);
      } catch (error) {
        // Without its list a server is of no use; connecting anew may mend it.
        const reason = `its tools cannot be listed: ${connection.words(messageOf(error))}`;
        connection.drop(link, reason);
        return { kind: 'failed', reason } as const;
      } finally {
        refreshing = undefined;
      }
    })();
    return refreshing;
  };

  /** Whatever goes wrong has been reported. */
  const refreshInBackground = (link: Link): void => {
    refresh(link).catch((error: unknown) => {
      observer.report('error', 'handler_failed', { method: `connector ${id}`, error: messageOf(error) });
    });
  };

  return {
    id,
    connection,
    tenants,
    instanceId,
    tool: (toolName) => offers.get(toolName),
    knows: (digest) => [...offers.values()].some(({ definition }) => definition.digest === digest),
    served() {
      if (connection.link() === undefined) return [];
      return [...offers.values()].map(({ definition }) => served(definition, id));
    },
    reserve(toolName, sessionId) {
      const tool = offers.get(toolName);
      if (tool === undefined || connection.link() === undefined || leases.size >= maxInFlight)
        return undefined;
      const leaseToken = leaseTokenOf(random.token(), sessionId);
      leases.add(leaseToken);
      return {
        leaseToken,
        instanceId,
        streamNumber: 1,
        workerName: id,
        definition: tool.definition,
        maxMessageBytes: MAX_MESSAGE_BYTES,
      };
    },
    release: (leaseToken) => {
      leases.delete(leaseToken);
    },
    async tools() {
      const opening = await connection.open();
      if (opening.kind === 'failed') return opening;
      // The first list is on its way since the connection was opened.
      if (refreshing !== undefined) return refreshing;
      if (current && opening.link.saysChanges) return { kind: 'tools', tools: [...offers.values()] };
      return refresh(opening.link);
    },
    close: () => connection.close(),
  };
}

function served(definition: Definition, connectorId: string): Served {
  return { definition, workers: 1, workersWithOtherDefinition: 0, connectorId };
}
