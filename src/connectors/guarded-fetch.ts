import { lookup as resolve } from 'node:dns';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { CONNECTOR_CONNECT_MS } from '../core/limits.ts';
import { boundedBody } from './bounded-body.ts';
import { isPrivateAddress } from './private-address.ts';

/** The request did not reach its server, for certain: nothing can have happened there. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** The connection broke behind the request: nobody knows whether the server took it. */
export class BrokenConnectionError extends Error {
  override readonly name = 'BrokenConnectionError';
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface GuardedFetchOptions {
  /** Reach private addresses, and speak HTTP without TLS. */
  readonly allowPrivate: boolean;
}

/**
 * Fetches over HTTP, one connection a request. It follows no redirect by itself, so that whoever does passes here
 * with each address; a name's addresses are looked at when the socket connects, and not before, so that no name can
 * mean another one in between; and a message that is too large ends its response.
 */
export function createGuardedFetch({ allowPrivate }: GuardedFetchOptions): Fetch {
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0);
      const refused = addresses.find(({ address }) => isPrivateAddress(address));
      if (refused !== undefined && !allowPrivate) return callback(refusal(hostname), '', 0);
      const [first] = addresses;
      if (options.all === true) return callback(null, addresses);
      if (first === undefined) return callback(new Error(`${hostname} has no address`), '', 0);
      return callback(null, first.address, first.family);
    });
  };

  return (input, init = {}) =>
    new Promise((fulfil, reject) => {
      const url = new URL(input);
      const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
      if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:'))
        return reject(new UnreachableError(`${url.origin}: only https is allowed`));
      if (isIP(host) !== 0 && isPrivateAddress(host) && !allowPrivate) return reject(refusal(host));
      let connected = false;
      const send = url.protocol === 'https:' ? secureRequest : plainRequest;
      const request = send(url, {
        method: init.method ?? 'GET',
        headers: Object.fromEntries(new Headers(init.headers)),
        agent: false,
        lookup,
        ...(init.signal ? { signal: init.signal } : {}),
      });
      request.once('socket', (socket) => {
        const late = setTimeout(() => {
          request.destroy(new Error('the address does not answer'));
        }, CONNECTOR_CONNECT_MS);
        late.unref();
        socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
          connected = true;
          clearTimeout(late);
        });
        socket.once('close', () => clearTimeout(late));
      });
      request.once('error', (cause) => {
        if (init.signal?.aborted === true) return reject(init.signal.reason);
        // An error of the network names addresses and ports, and no header.
        const text = `${url.origin}: ${cause.message}`;
        reject(connected ? new BrokenConnectionError(text) : new UnreachableError(text));
      });
      request.once('response', (response) => fulfil(responseOf(response, url)));
      request.end(bodyOf(init.body));
    });
}

function refusal(host: string): UnreachableError {
  return new UnreachableError(
    `${host} is an address of a private network, or of this machine; \`private = true\` of the connector allows it`,
  );
}

/** The SDK sends texts and forms, and nothing else. */
function bodyOf(body: RequestInit['body']): string | undefined {
  return body === null || body === undefined ? undefined : String(body);
}

/** Answers of these statuses have no body, and Response refuses one. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

function responseOf(message: IncomingMessage, url: URL): Response {
  const status = message.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  if (BODILESS.has(status)) message.resume();
  const body = BODILESS.has(status)
    ? null
    : (Readable.toWeb(message) as ReadableStream<Uint8Array>).pipeThrough(boundedBody(headers));
  const response = new Response(body, { status, statusText: message.statusMessage ?? '', headers });
  Object.defineProperty(response, 'url', { value: url.href });
  return response;
}
