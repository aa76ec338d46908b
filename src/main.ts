/**
 * The composition root: builds an engine from its parts, listens, and drains. Nothing else wires anything.
 * Published as `spindle/engine`.
 */
import { create } from '@bufbuild/protobuf';
import { type AgentConfig, AgentConfigSchema } from '../gen/spindle/v1/agent_pb.ts';
import { RetryPoliciesSchema } from '../gen/spindle/v1/retry_pb.ts';
import { type Access, openAccess } from './access/access.ts';
import { limitBlobs } from './access/limited-blobs.ts';
import { administratorToken } from './access/secret.ts';
import type { ConnectorPorts } from './connectors/connector.ts';
import type { ConnectorSet } from './connectors/connectors.ts';
import { joinWorkers } from './connectors/joined-workers.ts';
import { type ConnectorOptions, connectorIdFault } from './connectors/options.ts';
import { MAX_TIMER_MS, RETAIN_MS, SHUTDOWN_GRACE_MS } from './core/limits.ts';
import { agentFault } from './core/loop/agent-config.ts';
import { buildEngine } from './engine/engine.ts';
import type { Observer } from './engine/ports.ts';
import type { EngineOptions, RunningEngine } from './engine-options.ts';
import { type CatalogWatch, createCatalogWatch } from './gateway/catalog-watch.ts';
import { lazyGateway } from './gateway/lazy-gateway.ts';
import { openBuiltIn } from './models/built-in.ts';
import { createModels } from './models/models.ts';
import { accessService } from './rpc/access-service.ts';
import { exposureOf } from './rpc/exposure.ts';
import { createScrapeGate } from './rpc/http/scrape-gate.ts';
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
import type { Telemetry, TelemetryOptions, TelemetryPlace } from './telemetry/telemetry.ts';
import { createRegistry } from './workers/registry.ts';
import { createResumeTokens } from './workers/resume-token.ts';
import { workersStanding } from './workers/standing.ts';
import { createWorkerStreams } from './workers/streams.ts';

export type { ConnectorAuth, ConnectorOptions, ConnectorTransport, Secret } from './connectors/options.ts';
export type { EngineOptions, RunningEngine } from './engine-options.ts';
export { StartError };

export const DEFAULT_LISTEN = '127.0.0.1:7433';
export const DEFAULT_HTTP = '127.0.0.1:7434';
/** Of tokens whose maker names none; and whose operators read the metrics. */
const DEFAULT_TENANT = 'default';
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
  let telemetry: Telemetry | undefined;
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
    const { insecure = false, telemetry: telemetryOptions = {} } = options;
    for (const address of [grpc, http])
      if (address !== undefined) checkExposure(address, access, insecure, observer);
    const { asks, tls: secured } = access;
    const { metricsTenant = DEFAULT_TENANT, openMetrics = false } = telemetryOptions;
    const gate = createScrapeGate({
      ...access,
      tenant: metricsTenant,
      open: openMetrics,
      checkAddress: (address) =>
        checkExposure(address, { asks: asks && !openMetrics, tls: secured }, insecure, observer),
    });
    telemetry = await openTelemetry(options.telemetry, { observer, clock, gate }).catch(
      startErrorOf('address'),
    );
    const engine = buildEngine({
      journal: telemetry?.measured(store.journal) ?? store.journal,
      recorder: withCallLog(observer, telemetry?.recorder),
      blobs,
      clock,
      random,
      workers,
      models,
      agents: agentsOf(options),
      privilegedAgents: new Set(options.privilegedAgents),
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
    const admission = quotas && { begin: quotas.rate, stream: quotas.stream };
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

/** The deployment's agents. One that could never run is found at the start. */
function agentsOf({ agents = {} }: EngineOptions): ReadonlyMap<string, AgentConfig> {
  return new Map(
    Object.entries(agents).map(([id, given]) => {
      const agent = create(AgentConfigSchema, given);
      const fault = agentFault(agent);
      if (fault !== undefined) throw new StartError('option', `agent ${JSON.stringify(id)}: ${fault}`);
      return [id, agent];
    }),
  );
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
  place: Omit<TelemetryPlace, 'version'>,
): Promise<Telemetry | undefined> {
  if (options === undefined) return undefined;
  const telemetry = await import('./telemetry/telemetry.ts');
  return telemetry.openTelemetry(options, { version: VERSION, ...place });
}

/** An address that other machines reach is for callers who prove who they are, over TLS, unless the operator wants it so (9.1). */
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
