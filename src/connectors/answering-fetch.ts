import type { JSONRPCErrorResponse } from '@modelcontextprotocol/sdk/types.js';
import type { Fetch } from './guarded-fetch.ts';

/**
 * The data of an error that we made up: the server's answer will not come any more. No message of a server can hold
 * one.
 */
export class Unanswered {
  /** How the response broke; undefined where it ended. */
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** JSON-RPC's first code for errors of an implementation, which MCP's SDKs use for closed connections. */
const CONNECTION_CLOSED = -32_000;

/**
 * Answers a request whose response ends, or breaks, before the answer: the SDK would wait for it until the request's
 * time is over. A stream with event ids can be resumed, and the SDK does so.
 */
export function answeringFetch(fetch: Fetch, answer: (message: JSONRPCErrorResponse) => void): Fetch {
  return async (input, init = {}) => {
    const id = requestId(init);
    const response = await fetch(input, init);
    if (id === undefined || !response.ok) return response;
    let resumable = false;
    const over = (cause?: unknown): void => {
      if (resumable) return;
      const error = {
        code: CONNECTION_CLOSED,
        message: 'the server ended its stream without an answer',
        data: new Unanswered(cause),
      };
      // Behind what came on the stream. To a request that has been answered it means nothing.
      setImmediate(() => answer({ jsonrpc: '2.0', id, error }));
    };
    if (response.body === null) {
      over();
      return response;
    }
    const decoder = new TextDecoder();
    let line = '';
    const watched = watch(
      response.body,
      (chunk) => {
        const text = line + decoder.decode(chunk, { stream: true });
        resumable ||= /^id:/m.test(text);
        // A field's name may be cut in two.
        line = text.slice(text.lastIndexOf('\n') + 1).slice(0, 8);
      },
      over,
    );
    return new Response(watched, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

function requestId({ method, body }: RequestInit): string | number | undefined {
  if (method !== 'POST' || typeof body !== 'string') return undefined;
  // The SDK wrote it.
  const message: { readonly id?: string | number; readonly method?: string } = JSON.parse(body);
  return message.method === undefined ? undefined : message.id;
}

/** The same bytes, with word of each chunk and of the end, however it comes. */
function watch(
  body: ReadableStream<Uint8Array>,
  read: (chunk: Uint8Array) => void,
  over: (cause?: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (done) {
          controller.close();
          over();
          return;
        }
        read(value);
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        over(error);
      }
    },
    async cancel(reason) {
      over();
      await reader.cancel(reason);
    },
  });
}
