import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Tls, TlsMaterial } from '../../access/tls.ts';
import {
  HELLO_TIMEOUT_MS,
  HTTP_KEEPALIVE_MS,
  HTTP_REQUEST_TIMEOUT_MS,
  MAX_HTTP_HEADER_BYTES,
} from '../../core/limits.ts';

const BOUNDS = {
  maxHeaderSize: MAX_HTTP_HEADER_BYTES,
  requestTimeout: HTTP_REQUEST_TIMEOUT_MS,
  headersTimeout: HTTP_REQUEST_TIMEOUT_MS,
  keepAliveTimeout: HTTP_KEEPALIVE_MS,
};

/** In plain text, or by TLS whose certificate follows the files. */
export function createSecurableServer(tls: Tls | undefined, listener: RequestListener): Server {
  if (tls === undefined) return createServer(BOUNDS, listener);
  const contextOf = ({ certificate, key, clientAuthority }: TlsMaterial) => ({
    cert: certificate,
    key,
    ...(clientAuthority === undefined ? {} : { ca: clientAuthority }),
  });
  const server = createSecureServer(
    {
      ...BOUNDS,
      ...contextOf(tls.current),
      handshakeTimeout: HELLO_TIMEOUT_MS,
      // Asked for, and not demanded: a token is as good.
      requestCert: tls.current.clientAuthority !== undefined,
      rejectUnauthorized: false,
    },
    listener,
  );
  tls.onChange((material) => server.setSecureContext(contextOf(material)));
  return server;
}
