import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CONNECTOR_STDERR_CHARS, MAX_CONNECTOR_MESSAGE_BYTES } from '../core/limits.ts';
import { unreachable } from '../core/unreachable.ts';
import { answeringFetch } from './answering-fetch.ts';
import { authorizedFetch } from './authorized-fetch.ts';
import type { CredentialStore } from './credential-store.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import type { ConnectorTransport } from './options.ts';

export interface OpenTransport {
  readonly transport: Transport;
  /** Whether the server has given this connection a session, which it may drop. */
  hasSession(): boolean;
  /** What the server wrote to standard error at last. */
  lastWords(): string;
  /** Ends the session at the server, where there is one. Rejects where the server cannot be told. */
  leave(): Promise<void>;
}

export interface TransportOptions {
  readonly store: CredentialStore;
  readonly onSecret: (secret: string) => void;
}

/** Opens nothing yet: the client that it is given to does. */
export async function openTransport(
  transport: ConnectorTransport,
  options: TransportOptions,
): Promise<OpenTransport> {
  switch (transport.kind) {
    case 'stdio':
      return stdioTransport(transport, options);
    case 'http':
      return httpTransport(transport, options);
    default:
      return unreachable(transport);
  }
}

async function stdioTransport(
  { command, args = [], directory, environment = {} }: Extract<ConnectorTransport, { kind: 'stdio' }>,
  { onSecret }: TransportOptions,
): Promise<OpenTransport> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    env[name] = typeof value === 'string' ? value : (await value()).trim();
    if (typeof value !== 'string') onSecret(env[name]);
  }
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env,
    ...(directory === undefined ? {} : { cwd: directory }),
    stderr: 'pipe',
    maxBufferSize: MAX_CONNECTOR_MESSAGE_BYTES,
  });
  let lastWords = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString()).slice(-CONNECTOR_STDERR_CHARS);
  });
  return {
    transport: transport as Transport,
    hasSession: () => false,
    lastWords: () => lastWords,
    leave: async () => undefined,
  };
}

function httpTransport(
  {
    url: address,
    auth = { kind: 'none' },
    allowPrivate = false,
  }: Extract<ConnectorTransport, { kind: 'http' }>,
  { store, onSecret }: TransportOptions,
): OpenTransport {
  const url = new URL(address);
  const guarded = createGuardedFetch({ allowPrivate });
  const fetch = authorizedFetch({ url, auth, store, fetch: guarded, onSecret });
  const transport: StreamableHTTPClientTransport = new StreamableHTTPClientTransport(url, {
    fetch: answeringFetch(fetch, (answer) => transport.onmessage?.(answer)),
  });
  return {
    // The SDK's class leaves its callbacks undefined where its own interface has them absent.
    transport: transport as Transport,
    hasSession: () => transport.sessionId !== undefined,
    lastWords: () => '',
    leave: () => transport.terminateSession(),
  };
}
