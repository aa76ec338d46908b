/**
 * The composition root: builds an engine from its parts, listens, and drains. Nothing else wires anything.
 * Published as `spindle/engine`.
 */
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Caller } from '../gen/spindle/v1/call_pb.ts';
import { RetryPoliciesSchema } from '../gen/spindle/v1/retry_pb.ts';
import { joinWorkers } from './connectors/joined-workers.ts';
import { MAX_TIMER_MS, RETAIN_MS, SHUTDOWN_GRACE_MS } from './core/limits.ts';
import { buildEngine, type Engine } from './engine/engine.ts';
import type { Blobs, Clock, Journal, Observer, Random } from './engine/ports.ts';
import { type CatalogWatch, createCatalogWatch } from './gateway/catalog-watch.ts';
import type { HttpGateway } from './gateway/http-gateway.ts';
import { parseJournalUrl } from './journal/url.ts';
import { isLoopback, parseAddress } from './rpc/address.ts';
import type { McpEndpoint } from './rpc/http/mcp-route.ts';
import { type Listening, listen } from './rpc/listen.ts';
import { toolService } from './rpc/tool-service.ts';
import { workerService } from './rpc/worker-service.ts';
import { createSchemas } from './schema/schemas.ts';
import { VERSION } from './sdk/version.ts';
import { systemClock, systemRandom } from './system.ts';
import type { LogOptions } from './telemetry/log.ts';
import { createRegistry } from './workers/registry.ts';
import { createResumeTokens } from './workers/resume-token.ts';
import { createWorkerStreams } from './workers/streams.ts';

export interface EngineOptions {
  /** HOST:PORT of the gRPC port, for workers and services. Port 0 lets the system choose. Default 127.0.0.1:7433. */
  readonly listen?: string;
  /** HOST:PORT for gRPC-Web, Connect and JSON, or false for no such port. Default 127.0.0.1:7434. */
  readonly http?: string | false;
  /** Where calls are kept: `memory:`, or `sqlite:PATH`. Default sqlite:./spindle-data/spindle.db. */
  readonly journal?: string;
  /** Retry policies of the deployment, between the engine's own and those of tools and calls. */
  readonly retry?: MessageInitShape<typeof RetryPoliciesSchema>;
  /**
   * Listen on an address that other machines reach, though nobody has to prove who they are. Without it such
   * an address is refused (9.1).
   */
  readonly insecure?: boolean;
  /**
   * How long a worker that is away keeps what it holds, in milliseconds (5.3). Shorter, a worker that died is
   * known as lost sooner; longer, one that is only cut off has more time to come back. Default 30,000.
   */
  readonly resumeGraceMs?: number;
  /** How long calls are kept after their end, in milliseconds; then their ids are free again (4.12). Default 7 days. */
  readonly retainMs?: number;
  /** Hears what an operator should know. Default: nobody. */
  readonly observer?: Observer;
}

export interface RunningEngine {
  /** HOST:PORT, with the port that the system chose. */
  readonly grpcAddress: string;
  readonly httpAddress: string | undefined;
  readonly journal: string;
  /** Resolves with the reason when the engine cannot go on: its journal failed (7.4). Call `stop` then. */
  readonly failed: Promise<Error>;
  /** Takes no more calls, gives running ones this long, in milliseconds, and closes. */
  stop(graceMs?: number): Promise<void>;
}

/** Why an engine did not start. The message says what to do. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** An option cannot be used; an address cannot be listened on; the journal cannot be opened. */
  readonly kind: 'option' | 'address' | 'journal';

  constructor(kind: StartError['kind'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
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
  for (const address of [grpc, http]) {
    if (address !== undefined) checkReach(address, options.insecure ?? false, observer);
  }
  const { retainMs = RETAIN_MS } = options;
  if (!(retainMs > 0)) throw new StartError('option', `retainMs is ${retainMs}; it has to be positive`);
  const clock = systemClock();
  const random = systemRandom();
  const schemas = createSchemas();
  const store = await openStore(journalUrl, observer, clock).catch(startErrorOf('journal'));
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
  const workers = joinWorkers({ connected: registry, connectors: undefined, touched: catalog.touch });
  let listening: Listening | undefined;
  try {
    const engine = buildEngine({
      journal: store.journal,
      blobs: store.blobs,
      clock,
      random,
      workers,
      schemas,
      observer,
      policies: options.retry && create(RetryPoliciesSchema, options.retry),
      resumeGraceMs,
      retainMs,
      failed: (error) => failure.resolve(error instanceof Error ? error : new Error(String(error))),
    });
    await engine.recover().catch(startErrorOf('journal'));
    const services = [toolService(engine, observer), workerService(streams)];
    const mcp = lazyGateway({ engine, catalog, clock, random, observer });
    listening = await listen({ services, grpc, http, observer, mcp }).catch(startErrorOf('address'));
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
      await store.close();
    };
    let stopping: Promise<void> | undefined;
    return {
      grpcAddress,
      httpAddress,
      journal: journalUrl,
      failed: failure.promise,
      stop(graceMs = SHUTDOWN_GRACE_MS) {
        stopping ??= stop(graceMs);
        return stopping;
      },
    };
  } catch (error) {
    await listening?.drain(0);
    await store.close();
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

interface GatewayParts {
  readonly engine: Engine;
  readonly catalog: CatalogWatch;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
}

/** The MCP gateway; its library is loaded with the first request. */
function lazyGateway({ engine, catalog, ...parts }: GatewayParts): McpEndpoint {
  let loading: Promise<HttpGateway> | undefined;
  const load = async (): Promise<HttpGateway> => {
    const { createHttpGateway } = await import('./gateway/http-gateway.ts');
    const { engineSource } = await import('./gateway/engine-source.ts');
    const sourceFor = (caller: Caller) => engineSource(engine, catalog, caller);
    return createHttpGateway({ ...parts, sourceFor, version: VERSION });
  };
  return {
    async handle(request, response, caller) {
      loading ??= load();
      await (await loading).handle(request, response, caller);
    },
    async close() {
      await (await loading)?.close();
    },
  };
}

/** Nobody is asked who they are, so nobody from elsewhere may come, unless the operator wants it (9.1). */
function checkReach(text: string, insecure: boolean, observer: Observer): void {
  const address = parseAddress(text);
  if (!address.ok) throw new StartError('option', address.refusal.message);
  if (isLoopback(address.value.host)) return;
  if (!insecure) {
    throw new StartError(
      'option',
      `${text} can be reached from other machines, and this engine asks nobody who they are: whoever reaches it ` +
        'can call every tool. Listen on a loopback address, 127.0.0.1 say, or allow this with --insecure.',
    );
  }
  observer.report('warn', 'insecure_listen', {
    address: text,
    hint: 'whoever reaches it can call every tool',
  });
}

/** Rethrows what a part said, as the reason why the engine does not start. */
function startErrorOf(kind: StartError['kind']): (error: unknown) => never {
  return (error) => {
    if (error instanceof StartError) throw error;
    throw new StartError(kind, error instanceof Error ? error.message : String(error), { cause: error });
  };
}

interface Store {
  readonly journal: Journal;
  readonly blobs: Blobs;
  /** Makes resume tokens that an engine on the same data accepts after a restart (5.8). */
  readonly secret: Uint8Array;
  close(): Promise<void>;
}

/** What is kept, in memory or in a folder. SQLite and its thread are loaded only where they are used. */
async function openStore(url: string, observer: Observer, { now }: Clock): Promise<Store> {
  const parsed = parseJournalUrl(url);
  if (!parsed.ok) throw new StartError('option', parsed.reason);
  const place = parsed.url;
  if (place.kind === 'memory') {
    const { createMemoryJournal } = await import('./journal/memory.ts');
    const { createMemoryBlobs } = await import('./journal/memory-blobs.ts');
    return closable(createMemoryJournal(), createMemoryBlobs({ now }), randomBytes(SECRET_BYTES));
  }
  const { openSqliteJournal } = await import('./journal/sqlite.ts');
  const { openFileBlobs } = await import('./journal/file-blobs.ts');
  const journal = await openSqliteJournal({ path: place.path, observer });
  try {
    const { keptSecret } = await import('./journal/kept-secret.ts');
    const directory = dirname(place.path);
    const blobs = await openFileBlobs({ directory: join(directory, 'blobs'), now });
    const secret = await keptSecret(join(directory, 'resume.key'), randomBytes(SECRET_BYTES));
    return closable(journal, blobs, secret);
  } catch (error) {
    await journal.close();
    throw error;
  }
}

function closable(journal: Journal, blobs: Blobs, secret: Uint8Array): Store {
  return {
    journal,
    blobs,
    secret,
    async close() {
      await journal.close();
      await blobs.close();
    },
  };
}

const SECRET_BYTES = 32;
