import type { IncomingMessage, ServerResponse } from 'node:http';
import { equals } from '@bufbuild/protobuf';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type Caller, CallerSchema } from '../../gen/spindle/v1/call_pb.ts';
import {
  GATEWAY_IDLE_MS,
  GATEWAY_SWEEP_MS,
  MAX_GATEWAY_SESSIONS,
  MAX_MESSAGE_BYTES,
} from '../core/limits.ts';
import type { Instant } from '../core/time.ts';
import type { Clock, Observer, Random } from '../engine/ports.ts';
import { displacedBy } from './displaced.ts';
import { createEventStore } from './event-store.ts';
import { type GatewaySession, openGatewaySession } from './session.ts';
import type { ToolSource } from './tool-source.ts';

export interface HttpGatewayOptions {
  readonly sourceFor: (caller: Caller) => ToolSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
  readonly version: string;
}

/** MCP's streamable HTTP, with sessions, each of which belongs to the caller that opened it. */
export interface HttpGateway {
  /** Answers one request. */
  handle(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void>;
  /** Ends every session; calls go on (4.10). */
  close(): Promise<void>;
}

interface HttpSession {
  readonly caller: Caller;
  readonly transport: StreamableHTTPServerTransport;
  readonly session: GatewaySession;
  /** Requests and streams that are being answered. */
  open: number;
  usedAt: Instant;
}

export function createHttpGateway(options: HttpGatewayOptions): HttpGateway {
  const { sourceFor, clock, random, observer, version } = options;
  const sessions = new Map<string, HttpSession>();
  let disarm: (() => void) | undefined;

  const report = (error: Error): void => {
    // The message may quote what a client sent (9.4).
    observer.report('info', 'mcp_client_error', { error: error.name });
  };

  const end = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    session?.session.close().catch((error: unknown) => {
      observer.report('error', 'request_failed', { error: String(error) });
    });
  };

  const sweep = (): void => {
    disarm = undefined;
    const before = clock.now() - GATEWAY_IDLE_MS;
    for (const [id, { open, usedAt }] of sessions) if (open === 0 && usedAt < before) end(id);
    armSweep();
  };
  const armSweep = (): void => {
    if (sessions.size > 0) disarm ??= clock.alarm(clock.now() + GATEWAY_SWEEP_MS, sweep);
  };

  /** Whether there is room for one more of a tenant's, if need be in place of another. */
  const makeRoom = ({ tenant }: Caller): boolean => {
    if (sessions.size < MAX_GATEWAY_SESSIONS) return true;
    const displaced = displacedBy(tenant, sessions);
    if (displaced !== undefined) end(displaced);
    return displaced !== undefined;
  };

  const open = async (caller: Caller): Promise<HttpSession> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: random.token,
      eventStore: createEventStore(),
      maxRequestBodySize: MAX_MESSAGE_BYTES,
      onsessioninitialized: (id) => {
        sessions.set(id, opened);
        armSweep();
      },
      onsessionclosed: (id) => {
        sessions.delete(id);
      },
    });
    // The SDK's class leaves its callbacks undefined where its own interface has them absent.
    const session = await openGatewaySession(transport as Transport, {
      source: sourceFor(caller),
      version,
      now: clock.now,
      newCallId: random.token,
      onError: report,
    });
    const opened: HttpSession = { caller, transport, session, open: 0, usedAt: clock.now() };
    return opened;
  };

  const use = async (
    session: HttpSession,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    session.open += 1;
    response.once('close', () => {
      session.open -= 1;
      session.usedAt = clock.now();
    });
    await session.transport.handleRequest(request, response);
  };

  return {
    async handle(request, response, caller) {
      const id = request.headers['mcp-session-id'];
      const known = typeof id === 'string' ? sessions.get(id) : undefined;
      // Another credential of the same subject, or another token of its issuer, may have other rights than those by
      // which the session was opened.
      if (known !== undefined && equals(CallerSchema, known.caller, caller))
        return use(known, request, response);
      // Somebody else's session is as unknown as one that does not exist (9.3); the client begins a new one.
      if (id !== undefined) return refuse(response, 404, -32_001, 'Session not found');
      if (request.method !== 'POST')
        return refuse(response, 400, -32_000, 'A session begins with a POST of the initialize request');
      if (!makeRoom(caller))
        return refuse(
          response,
          503,
          -32_000,
          `${MAX_GATEWAY_SESSIONS} sessions are open, which is the limit`,
        );
      const fresh = await open(caller);
      await use(fresh, request, response);
      // What was no initialize request has been refused, and leaves nothing behind.
      if (fresh.transport.sessionId === undefined) await fresh.session.close();
    },
    async close() {
      disarm?.();
      const ending = [...sessions.values()];
      sessions.clear();
      await Promise.all(ending.map(({ session }) => session.close()));
    },
  };
}

function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}
