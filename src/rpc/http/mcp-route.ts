import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../../gen/spindle/v1/call_pb.ts';
import { formatAddress } from '../address.ts';
import { openContext } from '../context.ts';
import { rightsFault } from '../guard.ts';
import type { Serving } from '../invoke.ts';
import { CALLERS } from '../rules.ts';
import { httpStatusOf } from '../status.ts';
import { certificateBy } from './certificate-by.ts';
import { answersTo, type HostNames } from './host-guard.ts';

/** Where MCP clients connect. */
export const MCP_PATH = '/mcp';
/** What the gateway is called in refusals and in the record of who did what. */
const MCP_METHOD = 'mcp';

/** The MCP gateway, as this port sees it. */
export interface McpEndpoint {
  /** Answers one request of streamable HTTP. */
  handle(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void>;
  /** Ends every session. */
  close(): Promise<void>;
}

/** Finds out who asks, turns pages of other origins away, and hands the rest to the gateway. */
export async function serveMcp(
  mcp: McpEndpoint,
  serving: Serving,
  request: IncomingMessage,
  response: ServerResponse,
  hosts: HostNames,
): Promise<void> {
  if (!isOwnOrigin(request, hosts))
    return refuse(response, 403, 'Requests of pages from elsewhere are refused.');
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const { remoteAddress = 'unknown', remotePort = 0 } = request.socket;
  const context = await openContext(serving, {
    peer: formatAddress({ host: remoteAddress, port: remotePort }),
    header: (name) => [request.headers[name] ?? []].flat()[0],
    certificate: () => certificateBy(request),
    signal: gone.signal,
    method: MCP_METHOD,
  });
  const refusal = context.ok ? rightsFault(MCP_METHOD, CALLERS, context.value.caller) : context.refusal;
  if (context.ok) context.value.record?.({ method: MCP_METHOD, outcome: refusal?.reason ?? 'ok' });
  if (!context.ok || refusal !== undefined)
    return refuse(response, httpStatusOf(refusal?.reason ?? 'internal'), refusal?.message ?? '');
  const { caller, lifetime } = context.value;
  const stopWaiting = lifetime?.whenOver(() => response.destroy());
  response.once('close', () => stopWaiting?.());
  // A shutdown waits for calls, and not for streams on which nothing but notifications travel.
  const leave = request.method === 'POST' ? serving.requests.add(() => response.destroy()) : undefined;
  response.once('close', () => leave?.());
  await mcp.handle(request, response, caller);
}

/** MCP has servers look at the origin, so that no page in a browser reaches one that was not meant for it. */
function isOwnOrigin({ headers: { origin, host } }: IncomingMessage, hosts: HostNames): boolean {
  if (origin === undefined) return true;
  const from = URL.parse(origin)?.host;
  return from !== undefined && (from === host || (hosts.loopback && answersTo(hosts, from)));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }));
}
