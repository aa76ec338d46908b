import { type ChannelCredentials, Client, credentials, Metadata } from '@grpc/grpc-js';
import { KEEPALIVE_INTERVAL_MS, KEEPALIVE_TIMEOUT_MS, MAX_MESSAGE_BYTES } from '../../core/limits.ts';

/** Where an engine listens if nobody says otherwise. */
export const DEFAULT_ADDRESS = '127.0.0.1:7433';

/** A certificate authority, and a client's certificate where the engine asks for one (9.2). PEM. */
export interface TlsOptions {
  /** The authority that signed the engine's certificate; the system's own where it is not given. */
  readonly authority?: Uint8Array;
  readonly certificate?: Uint8Array;
  readonly key?: Uint8Array;
}

/** How to reach an engine, and as whom. */
export interface ConnectOptions {
  /** `host:port`. 127.0.0.1:7433 where it is not given. */
  readonly address?: string;
  /** Without it the connection is plain text. */
  readonly tls?: boolean | TlsOptions;
  /** A bearer token, or what makes one: it is asked again for each connection, so a token may expire (9.2). */
  readonly token?: string | (() => string | Promise<string>);
}

/** A connection of its own: its state and its backoff are shared with no other. */
export function openChannel(options: ConnectOptions): Client {
  return new Client(options.address ?? DEFAULT_ADDRESS, channelCredentials(options.tls), {
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': KEEPALIVE_INTERVAL_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_channelz': 0,
    // A call that is sent again is our decision (4.12), never the transport's.
    'grpc.enable_retries': 0,
  });
}

function channelCredentials(tls: ConnectOptions['tls']): ChannelCredentials {
  if (tls === undefined || tls === false) return credentials.createInsecure();
  const { authority, certificate, key } = tls === true ? ({} as TlsOptions) : tls;
  return credentials.createSsl(pem(authority), pem(key), pem(certificate));
}

function pem(bytes: Uint8Array | undefined): Buffer | null {
  return bytes === undefined ? null : Buffer.from(bytes);
}

/** The metadata of a request. Rejects where the author's `token` function does. */
export async function requestMetadata(token: ConnectOptions['token']): Promise<Metadata> {
  const metadata = new Metadata();
  const bearer = typeof token === 'function' ? await token() : token;
  if (bearer !== undefined) metadata.set('authorization', `Bearer ${bearer}`);
  return metadata;
}
