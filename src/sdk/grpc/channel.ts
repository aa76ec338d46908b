import { type ChannelCredentials, Client, credentials, Metadata } from '@grpc/grpc-js';
import {
  KEEPALIVE_INTERVAL_MS,
  KEEPALIVE_TIMEOUT_MS,
  MAX_MESSAGE_BYTES,
  RECONNECT_INITIAL_MS,
} from '../../core/limits.ts';
import { type ConnectOptions, DEFAULT_ADDRESS, type TlsOptions } from './connect-options.ts';

/** A connection of its own: its state and its backoff are shared with no other. */
export function openChannel(options: ConnectOptions): Client {
  return new Client(options.address ?? DEFAULT_ADDRESS, channelCredentials(options.tls), {
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': KEEPALIVE_INTERVAL_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    // Worker and client wait by themselves (5.3): the channel's own backoff, of two minutes, must not come on top.
    'grpc.initial_reconnect_backoff_ms': RECONNECT_INITIAL_MS,
    'grpc.max_reconnect_backoff_ms': RECONNECT_INITIAL_MS,
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
