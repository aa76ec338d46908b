import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError, type Progress } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Failure, ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import { failure } from '../core/failure.ts';
import { MAX_TIMER_MS } from '../core/limits.ts';
import { Unanswered } from './answering-fetch.ts';
import { MessageTooLargeError } from './bounded-body.ts';
import { BrokenConnectionError, UnreachableError } from './guarded-fetch.ts';
import { LoginRequiredError } from './oauth-provider.ts';
import { argumentsOf } from './tool-arguments.ts';
import { readToolResult } from './tool-result.ts';

export interface ServerCall {
  readonly serverName: string;
  /** JSON text of an object. */
  readonly arguments: string;
  /** W3C trace context: the server finds it in `_meta` (8.2). */
  readonly traceContext: Readonly<Record<string, string>>;
  /** Aborted when the call is to stop: the server is told. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** The server's own words, without credentials. */
  readonly words: (error: unknown) => string;
}

export type ServerCallEnd =
  | { readonly kind: 'result'; readonly result: ToolResult }
  | { readonly kind: 'failure'; readonly failure: Failure }
  | { readonly kind: 'cancelled' }
  /** The server knows the connection's session no more; it did nothing. */
  | { readonly kind: 'session_dropped' }
  /** The request did not reach the server. */
  | { readonly kind: 'unreached'; readonly reason: string }
  /** It reached the server, and no answer will come. */
  | { readonly kind: 'lost' };

/** Codes of what servers tell by an error of the protocol. */
const CODE = 'connector_error';
const AnySchema = z.looseObject({});

/** Calls a tool of a server. Never rejects: whatever happens there is one of the ends. */
export async function callServer(client: Client, call: ServerCall): Promise<ServerCallEnd> {
  const { serverName, traceContext, signal, onProgress, words } = call;
  const named = Object.keys(traceContext).length === 0 ? {} : { _meta: { ...traceContext } };
  try {
    const params = { name: serverName, arguments: argumentsOf(call.arguments), ...named };
    const answer = await client.request({ method: 'tools/call', params }, AnySchema, {
      signal,
      onprogress: onProgress,
      // The engine keeps the time (4.4); the library has to be given one.
      timeout: MAX_TIMER_MS,
    });
    const read = readToolResult(answer);
    if (read.kind === 'result') return read;
    return failed(`The server's answer cannot be used: ${words(read.reason)}.`, 'invalid_answer', {
      mayHaveTakenEffect: true,
    });
  } catch (error) {
    return signal.aborted ? { kind: 'cancelled' } : endOf(error, call);
  }
}

function endOf(error: unknown, { words }: ServerCall): ServerCallEnd {
  if (error instanceof UnreachableError) return { kind: 'unreached', reason: words(error) };
  if (error instanceof BrokenConnectionError) return { kind: 'lost' };
  if (error instanceof MessageTooLargeError) return TOO_LARGE;
  if (error instanceof LoginRequiredError)
    return failed('The server asks for a login, which an operator has to make.', CODE);
  if (error instanceof StreamableHTTPError) return httpEnd(error);
  if (error instanceof McpError) {
    if (error.data instanceof Unanswered && error.data.cause instanceof MessageTooLargeError)
      return TOO_LARGE;
    const isOver = error.code === ErrorCode.ConnectionClosed;
    // A server may use the code for an answer of its own, which then has other words.
    if (isOver && (error.data instanceof Unanswered || error.message.endsWith('Connection closed')))
      return { kind: 'lost' };
    return failed(`The server refused the call: ${words(error)}`, CODE);
  }
  if (error instanceof Error && error.message === 'Not connected')
    return { kind: 'unreached', reason: words(error) };
  return failed(`The call could not be made: ${words(error)}`, CODE, { mayHaveTakenEffect: true });
}

const TOO_LARGE: ServerCallEnd = {
  kind: 'failure',
  failure: failure('result_too_large', "The server's answer is larger than the engine reads.", {
    mayHaveTakenEffect: true,
  }),
};

/** What a status says about the call. The body is the server's, and may quote what it was sent: it stays out. */
function httpEnd({ code = 0 }: StreamableHTTPError): ServerCallEnd {
  switch (code) {
    case 404:
      return { kind: 'session_dropped' };
    case 401:
    case 403:
      return failed(`The server does not accept the connector's credentials (HTTP ${code}).`, CODE);
    case 429:
    case 503:
      return failed(`The server takes no more calls at the moment (HTTP ${code}).`, CODE, {
        retryable: true,
      });
    default:
      return failed(`The server answered with HTTP ${code}.`, CODE, { mayHaveTakenEffect: code >= 500 });
  }
}

function failed(
  message: string,
  code: string,
  more: Partial<Pick<Failure, 'retryable' | 'mayHaveTakenEffect'>> = {},
): ServerCallEnd {
  return { kind: 'failure', failure: { ...failure('tool_error', message, more), code } };
}
