import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { auth as authorize, extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js';
import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js';
import { CONNECTOR_LOGIN_MS } from '../core/limits.ts';
import type { CredentialStore } from './credential-store.ts';
import { createGuardedFetch, type Fetch } from './guarded-fetch.ts';
import { authorizationCode } from './oauth-provider.ts';
import type { ConnectorAuth, ConnectorTransport } from './options.ts';

export interface LoginOptions {
  readonly transport: Extract<ConnectorTransport, { kind: 'http' }>;
  readonly auth: Extract<ConnectorAuth, { kind: 'authorization_code' }>;
  readonly store: CredentialStore;
  /** Shows the address that a person has to open in a browser. */
  readonly show: (url: string) => void;
}

const PAGE = '<!doctype html><title>Spindle</title><p>You may close this window.';

/**
 * Has a person log in with a browser (authorization code with PKCE, RFC 8252), and keeps the tokens. Rejects where the
 * server refuses, or nobody comes back within CONNECTOR_LOGIN_MS.
 */
export async function login({ transport, auth, store, show }: LoginOptions): Promise<void> {
  const { url, allowPrivate = false } = transport;
  const state = randomBytes(16).toString('base64url');
  const code = Promise.withResolvers<string>();
  // Whoever waits for it is told; before that nobody does.
  code.promise.catch(() => undefined);
  const server = createServer((request, response) => {
    const back = URL.parse(request.url ?? '', 'http://127.0.0.1');
    if (back?.pathname !== '/callback' || back.searchParams.get('state') !== state) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/html', connection: 'close' }).end(PAGE);
    const given = back.searchParams.get('code');
    if (given === null) code.reject(new Error(`the login was refused (${errorOf(back)})`));
    else code.resolve(given);
  });
  const port = await listen(server, auth.redirectPort ?? 0);
  const late = setTimeout(() => {
    code.reject(new Error('nobody came back from the browser in time'));
  }, CONNECTOR_LOGIN_MS);
  try {
    const browser = {
      redirectUrl: `http://127.0.0.1:${port}/callback`,
      state,
      open: (address: URL) => show(address.href),
    };
    // Whoever logs in wants new tokens; a client that registered itself did so for an address that it no longer has.
    await store.write({});
    const provider = authorizationCode(auth, store, browser);
    const fetchFn = createGuardedFetch({ allowPrivate });
    const asked = await challenge(url, fetchFn);
    const begun = await authorize(provider, { ...asked, serverUrl: url, fetchFn });
    if (begun === 'REDIRECT') {
      const authorizationCode = await code.promise;
      await authorize(provider, { ...asked, serverUrl: url, fetchFn, authorizationCode });
    }
  } finally {
    clearTimeout(late);
    server.close();
    server.closeAllConnections();
  }
}

/** What the server asks for when somebody comes without a token: where its metadata is, and which scope it wants. */
async function challenge(url: string, fetch: Fetch): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
  const message = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: LATEST_PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'spindle', version: '1' },
    },
  };
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(message),
  });
  await answer.body?.cancel();
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(answer);
  return {
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    ...(scope === undefined ? {} : { scope }),
  };
}

/** The code of RFC 6749, section 4.1.2.1, and not its description: that is anybody's text. */
function errorOf(back: URL): string {
  return (back.searchParams.get('error') ?? 'no code').replace(/[^\w ]/g, '').slice(0, 100);
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}
