import { create } from '@bufbuild/protobuf';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import { CallToolRequestSchema as DirectCallSchema } from '../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_GATEWAY_RESOURCE_BYTES } from '../core/limits.ts';
import type { Instant } from '../core/time.ts';
import { pageOf } from './page.ts';
import { createProgressNotes } from './progress-notes.ts';
import { resultMessage } from './result-message.ts';
import { CALL_TOOL, listedTools, readCallee, readSearch, SEARCH_TOOL, searchResult } from './search-tools.ts';
import type { Sourced, ToolSource } from './tool-source.ts';

export interface GatewaySessionOptions {
  readonly source: ToolSource;
  readonly version: string;
  readonly now: () => Instant;
  /** Names a call, so that it can be cancelled before its first update. */
  readonly newCallId: () => string;
  /** Hears what no peer can be told: a notification that did not get through, say. */
  readonly onError: (error: Error) => void;
}

export interface GatewaySession {
  /** Ends it: calls go on (4.10). */
  close(): Promise<void>;
}

const INSTRUCTIONS =
  'Tools of a Spindle engine. Where the list has tool_search and call_tool, it is not the whole catalog: search for ' +
  'what you need, then call it. Results name large data by links to resources, which can be read.';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** Serves one MCP client over a transport. Every call is an ordinary direct call, with its id, record and trace. */
export async function openGatewaySession(
  transport: Transport,
  options: GatewaySessionOptions,
): Promise<GatewaySession> {
  const { source, version, now, newCallId, onError } = options;
  const server = new Server(
    { name: 'spindle', version },
    { capabilities: { tools: { listChanged: true }, resources: {} }, instructions: INSTRUCTIONS },
  );
  /** Tools that this client was told of with an output schema: it refuses results of theirs without a structured one. */
  const structured = new Set<string>();
  let closing = false;
  let stopWatching = (): void => undefined;

  const call = async (
    name: string,
    args: Readonly<Record<string, unknown>>,
    traceContext: Record<string, string>,
    extra: Extra,
  ): Promise<CallToolResult> => {
    const callId = newCallId();
    const notes = createProgressNotes(now);
    const progressToken = extra._meta?.progressToken;
    extra.signal.addEventListener(
      'abort',
      () => {
        // A client that goes away ends its wait alone; one that says so ends the call (4.10).
        if (closing) return;
        source
          .cancel(callId, 'the MCP client cancelled its request')
          .catch((error: unknown) => onError(asError(error)));
      },
      { once: true },
    );
    const request = create(DirectCallSchema, {
      name,
      arguments: JSON.stringify(args),
      callId,
      traceContext,
    });
    const end = await source.call(
      request,
      (update) => {
        const note = progressToken === undefined ? undefined : notes(update);
        if (note === undefined || progressToken === undefined) return;
        extra
          .sendNotification({ method: 'notifications/progress', params: { progressToken, ...note } })
          .catch((error: unknown) => onError(asError(error)));
      },
      extra.signal,
    );
    const response = accept(end);
    if (response.outcome.case === 'error' && response.outcome.value.code === 'unknown_tool')
      throw new McpError(ErrorCode.InvalidParams, response.outcome.value.message);
    return resultMessage(response, { readBlob: source.readBlob, wantsStructured: structured.has(name) });
  };

  server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
    const tools = accept(await source.tools());
    const page = pageOf(listedTools(tools), params?.cursor);
    if (page === undefined)
      throw new McpError(ErrorCode.InvalidParams, 'the cursor is not from an answer to tools/list');
    for (const { name, outputSchema } of page.tools) {
      if (outputSchema === undefined) structured.delete(name);
      else structured.add(name);
    }
    return { tools: [...page.tools], ...(page.next === undefined ? {} : { nextCursor: page.next }) };
  });

  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { name, arguments: args = {} } = params;
    const traceContext = traceContextOf(params._meta);
    if (name === SEARCH_TOOL.name) return search(source, args);
    if (name !== CALL_TOOL.name) return call(name, args, traceContext, extra);
    const callee = readCallee(args);
    if (typeof callee === 'string') return mistake(callee);
    return call(callee.name, callee.args, traceContext, extra);
  });

  // Nothing is listed: results name the resources that there are.
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({ resources: [] }));
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => ({
    contents: [{ uri, blob: await readBase64(source, uri) }],
  }));

  server.onerror = onError;
  server.onclose = () => stopWatching();
  // The transport tells of its end before the requests of this client are aborted.
  const onclose = transport.onclose;
  transport.onclose = () => {
    closing = true;
    onclose?.();
  };
  await server.connect(transport);
  stopWatching = source.watch(() => {
    server.sendToolListChanged().catch((error: unknown) => onError(asError(error)));
  });
  return {
    async close() {
      closing = true;
      await server.close();
    },
  };
}

async function search(source: ToolSource, args: Readonly<Record<string, unknown>>): Promise<CallToolResult> {
  const wanted = readSearch(args);
  if (typeof wanted === 'string') return mistake(wanted);
  const { tools, leftOut } = accept(await source.search(wanted.query, wanted.maxMatches));
  return searchResult(tools as readonly Tool[], leftOut);
}

/** Arguments of the gateway's own tools that are none: the model reads why, and corrects them (6.7). */
function mistake(message: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: message }] };
}

async function readBase64({ readBlob }: ToolSource, uri: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of accept(await readBlob(uri))) {
    size += chunk.byteLength;
    if (size > MAX_GATEWAY_RESOURCE_BYTES)
      throw new McpError(
        ErrorCode.InvalidRequest,
        `the resource is larger than ${MAX_GATEWAY_RESOURCE_BYTES} bytes; read it with ReadBlob, over gRPC or HTTP`,
      );
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString('base64');
}

/** What a refusal is in MCP: an error of the protocol, with the reason for programs (4.8). */
function accept<T>(outcome: Sourced<T>): T {
  if (outcome.ok) return outcome.value;
  const { reason, message, metadata } = outcome.refusal;
  throw new McpError(errorCodeOf(reason), message, { reason, domain: 'spindle.v1', ...metadata });
}

/** MCP's own code for a resource that is not there. */
const RESOURCE_NOT_FOUND = -32_002;

function errorCodeOf(reason: string): number {
  if (reason === 'invalid_request') return ErrorCode.InvalidParams;
  return reason === 'blob_not_found' ? RESOURCE_NOT_FOUND : ErrorCode.InternalError;
}

/** The trace of the client's span, where it says so in the request (8.2). */
function traceContextOf(meta: Readonly<Record<string, unknown>> | undefined): Record<string, string> {
  const context: Record<string, string> = {};
  for (const name of ['traceparent', 'tracestate', 'baggage']) {
    const value = meta?.[name];
    if (typeof value === 'string') context[name] = value;
  }
  return context;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
