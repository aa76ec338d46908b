import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../../engine/ports.ts';
import { certificateOf } from '../certificate.ts';

/** The certificate by which a request's connection was opened, where an authority of ours has signed it. */
export function certificateBy({ socket }: IncomingMessage): ClientCertificate | undefined {
  return socket instanceof TLSSocket && socket.authorized
    ? certificateOf(socket.getPeerCertificate())
    : undefined;
}
