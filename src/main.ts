/**
 * The composition root: builds an engine from its parts, listens, and drains. Nothing else wires anything.
 * Published as `spindle/engine`.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { AgentConfigSchema } from '../gen/spindle/v1/agent_pb.ts';
import { RetryPoliciesSchema } from '../gen/spindle/v1/retry_pb.ts';
import { type Access, type AccessSettings, openAccess } from './access/access.ts';
import { limitBlobs } from './access/limited-blobs.ts';
import { administratorToken } from './access/secret.ts';
import type { ConnectorPorts } from './connectors/connector.ts';
import type { ConnectorSet } from './connectors/connectors.ts';
import { joinWorkers } from './connectors/joined-workers.ts';
import { type ConnectorOptions, connectorIdFault } from './connectors/options.ts';
import { MAX_TIMER_MS, RETAIN_MS, SHUTDOWN_GRACE_MS } from './core/limits.ts';
import { buildEngine } from './engine/engine.ts';
import type { Clock, Observer } from './engine/ports.ts';
import { type CatalogWatch, createCatalogWatch } from './gateway/catalog-watch.ts';
import { lazyGateway } from './gateway/lazy-gateway.ts';
import { openBuiltIn } from './models/built-in.ts';
import type { ModelProvider } from './models/model-provider.ts';
import { createModels } from './models/models.ts';
import type { ProviderSettings } from './models/provider-settings.ts';
import { accessService } from './rpc/access-service.ts';
import { exposureOf } from './rpc/exposure.ts';
import { type Listening, listen } from './rpc/listen.ts';
import { sessionService } from './rpc/session-service.ts';
import { toolService } from './rpc/tool-service.ts';
import { workerService } from './rpc/worker-service.ts';
import { createSchemas } from './schema/schemas.ts';
import { VERSION } from './sdk/version.ts';
import { StartError, startErrorOf } from './start-error.ts';
import { openStore } from './store.ts';
import { systemClock, systemRandom } from './system.ts';
import { withCallLog } from './telemetry/call-log.ts';
import type { LogOptions } from './telemetry/log.ts';
import type { Telemetry, TelemetryOptions } from './telemetry/telemetry.ts';
import { createRegistry } from './workers/registry.ts';
import { createResumeTokens } from './workers/resume-token.ts';
import { workersStanding } from './workers/standing.ts';
import { createWorkerStreams } from './workers/streams.ts';

export type { ConnectorAuth, ConnectorOptions, ConnectorTransport, Secret } from './connectors/options.ts';
export { StartError };

export interface EngineOptions extends AccessSettings {
  /** HOST:PORT of the gRPC port, for workers and services. Port 0 lets the system choose. Default 127.0.0.1:7433. */
  readonly listen?: string;
  /** HOST:PORT for gRPC-Web, Connect and JSON, or false for no such port. Default 127.0.0.1:7434. */
  readonly http?: string | false;
  /** Where calls are kept: `memory:`, or `sqlite:PATH`. Default sqlite:./spindle-data/spindle.db. */
  readonly journal?: string;
  /** Retry policies of the deployment, between the engine's own and those of tools and calls. */
  readonly retry?: MessageInitShape<typeof RetryPoliciesSchema>;
  /**
   * Listen on an address that other machines reach, though nobody has to prove who they are, or in plain text.
   * Without it such an address is refused (9.1).
   */
  readonly insecure?: boolean;
  /**
   * Names under which the HTTP port answers, beside addresses and those of loopback. Without it: no other, so that no
   * page in a browser reaches it by a name of its own; or any, where tokens alone let somebody in.
   */
  readonly httpHosts?: readonly string[];
  /** Whether the gRPC port tells its contracts by reflection. Default true, to whoever has a credential. */
  readonly reflection?: boolean;
  /** Whether the gRPC port answers health checks, of anybody. Default true. */
  readonly health?: boolean;
  /**
   * How long a worker that is away keeps what it holds, in milliseconds (5.3). Shorter, a worker that died is
   * known as lost sooner; longer, one that is only cut off has more time to come back. Default 30,000.
   */
  readonly resumeGraceMs?: number;
  /** How long calls are kept after their end, in milliseconds; then their ids are free again (4.12). Default 7 days. */
  readonly retainMs?: number;
  /** Model providers by name, for models that are named provider/model. */
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  /** Model providers that this program brings itself, by name: a scripted one for tests, say. */
  readonly models?: Readonly<Record<string, ModelProvider>>;
  /** The files of scripted models, by the names of their providers (docs/local-model.md). */
  readonly scripts?: Readonly<Record<string, string>>;
  /** Agents by their ids, for sessions that no worker configures. */
  readonly agents?: Readonly<Record<string, MessageInitShape<typeof AgentConfigSchema>>>;
  /** MCP servers whose tools the engine calls, by their ids. */
  readonly connectors?: Readonly<Record<string, ConnectorOptions>>;
  /** Spans and metrics (8). Default: none, and their libraries are not loaded. */
  readonly telemetry?: TelemetryOptions;
  /** Hears what an operator should know. Default: nobody. */
  readonly observer?: Observer;
}

export interface RunningEngine {
  /** HOST:PORT, with the port that the system chose. */
  readonly grpcAddress: string;
  readonly httpAddress: string | undefined;
  /** Where Prometheus finds /metrics. */
  readonly metricsAddress: string | undefined;
  readonly journal: string;
  /** The bearer token that makes and ends tokens of any tenant (AccessService), and can do nothing else. A secret. */
  readonly administratorToken: string;
  /** Resolves with the reason when the engine cannot go on: its journal failed (7.4). Call `stop` then. */
  readonly failed: Promise<Error>;
  /** Takes no more calls, gives running ones this long, in milliseconds, and closes. */
  stop(graceMs?: number): Promise<void>;
}

export const DEFAULT_LISTEN = '127.0.0.1:7433';
export const DEFAULT_HTTP = '127.0.0.1:7434';
export const DEFAULT_JOURNAL = 'sqlite:./spindle-data/spindle.db';

/**
 * Starts an engine in this process. Rejects with a StartError where an address is taken, say, or the journal
 * cannot be opened.
 *
 * @example
 * const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: false });
 * const client = createClient({ address: engine.grpcAddress });
 * await engine.stop();
 */
export async function createEngine(options: EngineOptions = {}): Promise<RunningEngine> {
  const { journal: journalUrl = DEFAULT_JOURNAL, observer = SILENT, resumeGraceMs } = options;
  const grpc = options.listen ?? DEFAULT_LISTEN;
  const http = options.http === false ? undefined : (options.http ?? DEFAULT_HTTP);
  const { retainMs = RETAIN_MS } = options;
  if (!(retainMs > 0)) throw new StartError('option', `retainMs is ${retainMs}; it has to be positive`);
  const clock = systemClock();
  const random = systemRandom();
  const schemas = createSchemas();
  const builtIn = await openBuiltIn(options.scripts ?? {});
  if (!builtIn.ok) throw new StartError('option', builtIn.problems.join('\n'));
  const store = await openStore(journalUrl, observer, clock).catch(startErrorOf('journal'));
  const telemetry = await openTelemetry(options.telemetry, observer, clock).catch(async (error: unknown) => {
    await store.close();
    return startErrorOf('address')(error);
  });
  const { limits } = options;
  const blobs = limits === undefined ? store.blobs : limitBlobs(store.blobs, limits, clock);
  const failure = Promise.withResolvers<Error>();
  const registry = createRegistry({
    clock,
    random,
    observer,
    schemas,
    resumeTokens: createResumeTokens(store.secret),
    resumeGraceMs,
    soon: setImmediate,
  });
  const streams = createWorkerStreams(registry);
  const catalog: CatalogWatch = createCatalogWatch((tenant) => workers.served(tenant), clock);
  const parts = { clock, random, observer, schemas };
  const connectors = await openConnectors(options.connectors ?? {}, store.connectors, parts).catch(
    async (error: unknown) => {
      await store.close();
      throw error;
    },
  );
  const workers = joinWorkers({
    connected: registry,
    connectors: connectors?.workers,
    touched: catalog.touch,
  });
  const models = createModels({
    providers: options.providers ?? {},
    builtIn: { ...builtIn.providers, ...options.models },
    blobs,
    random,
    observer,
  });
  let listening: Listening | undefined;
  let access: Access | undefined;
  try {
    const { tokens: tokenStore, administratorKey, auditDirectory } = store;
    const settings = {
      settings: options,
      store: tokenStore,
      administratorKey,
      auditDirectory,
      clock,
      random,
      observer,
    };
    access = await openAccess(settings).catch((error: unknown) => {
      const isStored = error instanceof Error && error.name === 'JournalError';
      return startErrorOf(isStored ? 'journal' : 'option')(error);
    });
    for (const address of [grpc, http]) {
      if (address !== undefined) checkExposure(address, access, options.insecure ?? false, observer);
    }
    // Metrics are served in plain text, to whoever asks.
    const metrics = options.telemetry?.metrics;
    if (metrics !== undefined) checkExposure(metrics, NOBODY_ASKED, options.insecure ?? false, observer);
    const engine = buildEngine({
      journal: telemetry?.measured(store.journal) ?? store.journal,
      recorder: withCallLog(observer, telemetry?.recorder),
      blobs,
      clock,
      random,
      workers,
      models,
      agents: new Map(
        Object.entries(options.agents ?? {}).map(([id, agent]) => [id, create(AgentConfigSchema, agent)]),
      ),
      connectors: connectors?.connectors,
      schemas,
      observer,
      policies: options.retry && create(RetryPoliciesSchema, options.retry),
      resumeGraceMs,
      retainMs,
      quotas: access.quotas,
      failed: (error) => failure.resolve(error instanceof Error ? error : new Error(String(error))),
    });
    telemetry?.observe({ calls: engine.unfinished, workers: () => workersStanding(registry.instances) });
    await engine.recover().catch(startErrorOf('journal'));
    connectors?.start();
    const { tokens, credentials, tls, quotas, audit } = access;
    // A browser sends certificates by itself, and tokens never.
    const hosts: readonly string[] | 'any' =
      options.httpHosts ?? (access.asks && options.certificates === undefined ? 'any' : []);
    const closed = (['health', 'reflection'] as const).filter((name) => options[name] === false);
    const admission = quotas && { begin: engine.askQuota, stream: quotas.stream };
    const services = [
      toolService(engine, observer),
      sessionService(engine),
      workerService(streams),
      accessService({ tokens, audit, refuse: engine.refuse }),
    ];
    const mcp = lazyGateway({ engine, catalog, clock, random, observer, version: VERSION });
    const ports = { services, grpc, http, observer, mcp, credentials, audit, admission, tls, hosts, closed };
    listening = await listen(ports).catch(startErrorOf('address'));
    const { grpcAddress, httpAddress, drain } = listening;
    const stop = async (graceMs: number): Promise<void> => {
      // An alarm keeps no process alive, and with the ports closed nothing else may: the grace is waited for all
      // the same, and the store is closed after it.
      const awake = setInterval(() => undefined, MAX_TIMER_MS);
      try {
        await drainAndClose(graceMs);
      } finally {
        clearInterval(awake);
      }
    };
    const drainAndClose = async (graceMs: number): Promise<void> => {
      // Ports refuse new requests while running calls end. Then workers are sent away, those who still wait are
      // told, and once that is written all closes.
      const settled = engine.drain(graceMs).then(() => {
        streams.shutDown(0);
        return new Promise(setImmediate);
      });
      await Promise.all([drain(graceMs, settled), settled]);
      await connectors?.close();
      await access?.close();
      await store.close();
      await telemetry?.stop();
    };
    let stopping: Promise<void> | undefined;
    return {
      grpcAddress,
      httpAddress,
      metricsAddress: telemetry?.metricsAddress,
      journal: journalUrl,
      administratorToken: administratorToken(store.administratorKey),
      failed: failure.promise,
      stop(graceMs = SHUTDOWN_GRACE_MS) {
        stopping ??= stop(graceMs);
        return stopping;
      },
    };
  } catch (error) {
    await listening?.drain(0);
    await connectors?.close();
    await access?.close();
    await store.close();
    await telemetry?.stop();
    throw error;
  }
}

const SILENT: Observer = { report: () => undefined };

/**
 * A log on standard error, for `observer`. Its library is loaded by this function alone, so that an engine
 * within another program pays nothing for it.
 */
export async function openLog(options: LogOptions): Promise<Observer> {
  const { createLog } = await import('./telemetry/log.ts');
  return createLog(options);
}

/** The MCP servers; undefined where there are none, and then nothing of them is loaded. */
async function openConnectors(
  connectors: Readonly<Record<string, ConnectorOptions>>,
  directory: string | undefined,
  parts: Pick<ConnectorPorts, 'clock' | 'random' | 'observer' | 'schemas'>,
): Promise<ConnectorSet | undefined> {
  for (const [id, { transport }] of Object.entries(connectors)) {
    const fault = connectorIdFault(id);
    if (fault !== undefined) throw new StartError('option', `connector ${JSON.stringify(id)}: ${fault}`);
    if (transport.kind === 'http' && !URL.canParse(transport.url))
      throw new StartError('option', `connector ${id}: its url is none`);
  }
  if (Object.keys(connectors).length === 0) return undefined;
  const { createConnectors } = await import('./connectors/connectors.ts');
  const { connectorState } = await import('./connectors/connector-state.ts');
  const stateOf = (id: string) => connectorState(directory, id);
  return createConnectors({ ...parts, connectors, stateOf, version: VERSION });
}

async function openTelemetry(
  options: TelemetryOptions | undefined,
  observer: Observer,
  clock: Clock,
): Promise<Telemetry | undefined> {
  if (options === undefined) return undefined;
  const telemetry = await import('./telemetry/telemetry.ts');
  return telemetry.openTelemetry(options, { version: VERSION, observer, clock });
}

/** An address that other machines reach is for callers who prove who they are, over TLS, unless the operator wants it so (9.1). */
const NOBODY_ASKED = { asks: false, tls: undefined };

function checkExposure(
  address: string,
  { asks, tls }: Pick<Access, 'asks' | 'tls'>,
  insecure: boolean,
  observer: Observer,
): void {
  const exposure = exposureOf({ address, asks, tls: tls !== undefined });
  if (exposure.kind === 'safe') return;
  if (exposure.kind === 'unreadable') throw new StartError('option', exposure.message);
  if (!insecure) {
    throw new StartError(
      'option',
      `${address} can be reached from other machines, and ${exposure.lacks}. Listen on a loopback address, ` +
        '127.0.0.1 say; or set up TLS and credentials (docs/security.md); or allow this with --insecure.',
    );
  }
  observer.report('warn', 'insecure_listen', { address, hint: exposure.lacks });
}
