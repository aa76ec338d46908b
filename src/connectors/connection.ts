import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ErrorCode, McpError, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  CONNECTOR_LEAVE_MS,
  CONNECTOR_RETRY_INITIAL_MS,
  CONNECTOR_RETRY_MAX_MS,
  CONNECTOR_SETTLED_MS,
  CONNECTOR_TIMEOUT_MS,
} from '../core/limits.ts';
import type { Instant } from '../core/time.ts';
import type { Clock, Random } from '../engine/ports.ts';
import type { CredentialStore } from './credential-store.ts';
import { LoginRequiredError } from './oauth-provider.ts';
import type { ConnectorTransport } from './options.ts';
import { type OpenTransport, openTransport } from './transport.ts';
import { messageOf, wordsOf } from './words.ts';

export interface ConnectionOptions {
  readonly transport: ConnectorTransport;
  readonly store: CredentialStore;
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  /** A client is connected, for the first time or anew. */
  readonly opened: (link: Link) => void;
  /** The connection is gone, or none came about: the next try follows by itself. */
  readonly closed: (reason: string) => void;
  readonly listChanged: () => void;
  /** The server asked for something that nobody answers here. */
  readonly refusedRequest: (method: string) => void;
}

/** A client that is connected. */
export interface Link {
  readonly client: Client;
  readonly transport: OpenTransport;
  /** The server says when its list changes, so that it need not be asked. */
  readonly saysChanges: boolean;
}

export type Opening =
  | { readonly kind: 'open'; readonly link: Link }
  | { readonly kind: 'failed'; readonly reason: string };

/** The way to one server. It is kept open: where it breaks, it is opened again after a while, for ever. */
export interface Connection {
  /** The client, where one is connected. */
  link(): Link | undefined;
  /** Connects where that is not done yet; while a try has just failed, it says at once how. Never rejects. */
  open(): Promise<Opening>;
  /** Gives up a client that the server does not answer any more; the next try follows after a while. */
  drop(link: Link, reason: string): void;
  /** Gives up a client whose session the server has dropped, unless that was done already, and opens another at once. */
  reopen(link: Link): Promise<Opening>;
  /** A server's or a library's own words, without credentials. */
  words(error: unknown): string;
  /** What the server wrote to standard error at last. */
  lastWords(): string;
  close(): Promise<void>;
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'opening'; readonly opening: Promise<Opening> }
  | { readonly kind: 'open'; readonly link: Link; readonly since: Instant }
  | { readonly kind: 'waiting'; readonly reason: string; readonly disarm: () => void }
  | { readonly kind: 'over' };

export function createConnection(options: ConnectionOptions): Connection {
  const { clock, random, version, opened, closed } = options;
  const secrets = new Set<string>();
  let state: State = { kind: 'idle' };
  let failures = 0;
  let stderr = (): string => '';

  const words = (error: unknown): string => wordsOf(messageOf(error), secrets);

  const wait = (reason: string): void => {
    if (state.kind === 'over') return;
    const bound = Math.min(CONNECTOR_RETRY_MAX_MS, CONNECTOR_RETRY_INITIAL_MS * 2 ** failures);
    failures += 1;
    const disarm = clock.alarm(clock.now() + bound * random.draw(), () => {
      state = { kind: 'idle' };
      open().catch((error: unknown) => closed(words(error)));
    });
    state = { kind: 'waiting', reason, disarm };
    closed(reason);
  };

  const lost = (link: Link, reason: string): void => {
    if (state.kind !== 'open' || state.link !== link) return;
    if (clock.now() - state.since >= CONNECTOR_SETTLED_MS) failures = 0;
    wait(reason);
  };

  const connect = async (): Promise<Opening> => {
    const client = createClient(version, options);
    try {
      const transport = await openTransport(options.transport, {
        store: options.store,
        onSecret: (secret) => secrets.add(secret),
      });
      stderr = transport.lastWords;
      await client.connect(transport.transport, { timeout: CONNECTOR_TIMEOUT_MS });
      const saysChanges = client.getServerCapabilities()?.tools?.listChanged === true;
      return { kind: 'open', link: { client, transport, saysChanges } };
    } catch (error) {
      await quietly(client.close());
      const reason =
        error instanceof LoginRequiredError
          ? 'nobody is logged in, or the login has run out: `spindle connectors login` mends it'
          : words(error);
      return { kind: 'failed', reason };
    }
  };

  async function open(): Promise<Opening> {
    switch (state.kind) {
      case 'open':
        return { kind: 'open', link: state.link };
      case 'opening':
        return state.opening;
      case 'waiting':
        return { kind: 'failed', reason: state.reason };
      case 'over':
        return { kind: 'failed', reason: 'the engine shuts down' };
      case 'idle': {
        const opening = connect().then(settle);
        state = { kind: 'opening', opening };
        return opening;
      }
    }
  }

  const settle = async (opening: Opening): Promise<Opening> => {
    if (opening.kind === 'failed') {
      wait(opening.reason);
      return opening;
    }
    const { link } = opening;
    if (state.kind === 'over') {
      await quietly(link.client.close());
      return { kind: 'failed', reason: 'the engine shuts down' };
    }
    state = { kind: 'open', link, since: clock.now() };
    link.client.onclose = () => lost(link, 'the server closed the connection');
    // It may have closed while nobody listened yet.
    if (link.client.transport === undefined) lost(link, 'the server closed the connection');
    else opened(link);
    return opening;
  };

  return {
    link: () => (state.kind === 'open' ? state.link : undefined),
    open,
    drop(link, reason) {
      if (state.kind !== 'open' || state.link !== link) return;
      wait(reason);
      quietly(link.client.close());
    },
    reopen(link) {
      if (state.kind === 'open' && state.link === link) {
        state = { kind: 'idle' };
        quietly(link.client.close());
      }
      return open();
    },
    words,
    lastWords: () => wordsOf(stderr(), secrets),
    async close() {
      const before = state;
      state = { kind: 'over' };
      if (before.kind === 'waiting') before.disarm();
      if (before.kind === 'opening') await before.opening;
      if (before.kind !== 'open') return;
      const { client, transport } = before.link;
      // A server that does not answer is left without a word.
      const late = Promise.withResolvers<void>();
      const disarm = clock.alarm(clock.now() + CONNECTOR_LEAVE_MS, late.resolve);
      await Promise.race([quietly(transport.leave()), late.promise]);
      disarm();
      await quietly(client.close());
    },
  };
}

function createClient(
  version: string,
  { listChanged, refusedRequest }: Pick<ConnectionOptions, 'listChanged' | 'refusedRequest'>,
): Client {
  const client = new Client({ name: 'spindle', version });
  client.setNotificationHandler(ToolListChangedNotificationSchema, listChanged);
  // Elicitation, sampling and roots are no capabilities of ours; a server that asks all the same is told so.
  client.fallbackRequestHandler = async ({ method }) => {
    refusedRequest(method);
    throw new McpError(
      ErrorCode.MethodNotFound,
      `Spindle does not answer ${method}: it declares no such capability, and nobody is there to ask`,
    );
  };
  return client;
}

/** A connection that is given up need not end well. */
async function quietly(ending: Promise<unknown>): Promise<void> {
  try {
    await ending;
  } catch {
    // The other side is gone, which is all that was wanted.
  }
}
