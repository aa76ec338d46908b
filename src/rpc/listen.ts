import type { Tls } from '../access/tls.ts';
import { SHUTDOWN_FLUSH_MS } from '../core/limits.ts';
import { refused } from '../core/refusal.ts';
import type { Audit, Credentials, Observer } from '../engine/ports.ts';
import { type Address, formatAddress, parseAddress } from './address.ts';
import { NO_CREDENTIALS } from './authenticate.ts';
import { openGrpcPort, type StandardService } from './grpc/server.ts';
import { type Admission, guarded, UNBOUNDED } from './guard.ts';
import type { McpEndpoint } from './http/mcp-route.ts';
import { openHttpPort } from './http/server.ts';
import type { Serving } from './invoke.ts';
import { createOpenRequests } from './open-requests.ts';
import type { Port } from './port.ts';
import type { Service } from './service.ts';

export interface ListenOptions {
  readonly services: readonly Service[];
  /** HOST:PORT of the gRPC port. Port 0 lets the system choose. */
  readonly grpc: string;
  /** HOST:PORT for gRPC-Web, Connect and JSON. Left out: no such port. */
  readonly http?: string | undefined;
  readonly observer: Observer;
  /** Answers MCP clients on the HTTP port. Left out: nobody does. */
  readonly mcp?: McpEndpoint | undefined;
  /** Says who asks. Left out: nobody is asked (9.1). */
  readonly credentials?: Credentials;
  /** Left out: no record is kept of who did what. */
  readonly audit?: Audit | undefined;
  /** Left out: as much as the engine can bear. */
  readonly admission?: Admission | undefined;
  /** Left out: plain text. */
  readonly tls?: Tls | undefined;
  /** Names under which the HTTP port answers, beside addresses and those of loopback; 'any' for all. */
  readonly hosts?: readonly string[] | 'any';
  /** Standard services of the gRPC port that are not served. */
  readonly closed?: readonly StandardService[];
}

export interface Listening {
  /** HOST:PORT, with the port that the system chose. */
  readonly grpcAddress: string;
  readonly httpAddress: string | undefined;
  /**
   * Answers every new request with `shutting_down`, says NOT_SERVING to health checks, waits up to the grace for what
   * is under way, ends the rest with `shutting_down` as well, and closes every connection. Resolves when all is
   * closed; a second call joins the first.
   *
   * @param settled what is waited for; else the end of every open request
   */
  drain(graceMs: number, settled?: Promise<unknown>): Promise<void>;
}

/** Serves the services. Rejects with an Error for the operator where an address is unreadable or taken. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const {
    grpc,
    http,
    observer,
    mcp,
    credentials = NO_CREDENTIALS,
    admission = UNBOUNDED,
    tls,
    hosts = [],
    audit,
  } = options;
  const services = options.services.map((service) => guarded(service, admission));
  const addresses = { grpc: parsed(grpc), http: http === undefined ? undefined : parsed(http) };
  const requests = createOpenRequests();
  const serving: Serving = { observer, requests, mcp, credentials, audit, tls, hosts };
  const grpcPort = await openGrpcPort(services, serving, addresses.grpc, options.closed);
  const httpPort = addresses.http && (await openBeside(grpcPort, services, serving, addresses.http));
  const ports = httpPort === undefined ? [grpcPort] : [grpcPort, httpPort];

  const close = async (graceMs: number, settled: Promise<unknown>): Promise<void> => {
    const text = 'The engine shuts down. Try again, or try another engine.';
    const { refusal } = refused('shutting_down', text);
    // The ports stay open meanwhile: who is told why looks elsewhere, and who finds no port has to guess.
    requests.refuse(refusal);
    for (const port of ports) port.leave();
    await within(graceMs, settled);
    requests.stopAll(refusal);
    const closed = Promise.all(ports.map((port) => port.close()));
    await mcp?.close();
    await within(SHUTDOWN_FLUSH_MS, closed);
    for (const port of ports) port.destroy();
  };
  let draining: Promise<void> | undefined;
  return {
    grpcAddress: formatAddress(grpcPort.address),
    httpAddress: httpPort && formatAddress(httpPort.address),
    drain(graceMs, settled = requests.idle()) {
      draining ??= close(graceMs, settled);
      return draining;
    },
  };
}

function parsed(text: string): Address {
  const address = parseAddress(text);
  if (!address.ok) throw new Error(address.refusal.message);
  return address.value;
}

/** Opens the HTTP port; where that fails, the gRPC port is not left open alone. */
async function openBeside(
  grpcPort: Port,
  services: readonly Service[],
  serving: Serving,
  address: Address,
): Promise<Port> {
  try {
    return await openHttpPort(services, serving, address);
  } catch (error) {
    grpcPort.destroy();
    throw error;
  }
}

/** Waits for something, but no longer than this. */
async function within(ms: number, settled: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  try {
    await Promise.race([settled, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
