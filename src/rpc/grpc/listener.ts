import { createServer, type Server as NetServer, type Socket } from 'node:net';
import type { Server, ServerCredentials } from '@grpc/grpc-js';
import { HELLO_TIMEOUT_MS, MAX_GRPC_CONNECTIONS, SHUTDOWN_FLUSH_MS } from '../../core/limits.ts';
import type { Address } from '../address.ts';

/** The sockets of the gRPC port. grpc-js would take as many as come, and wait for ever for what they say first. */
export interface Listener {
  listen(address: Address): Promise<number>;
  /** Takes no new connection. */
  close(): void;
  /** Ends, soon, every connection that is left, also those that have not got as far as HTTP/2. */
  destroy(): void;
}

/** Accepts connections for a server, and hands them over; at most MAX_GRPC_CONNECTIONS at once. */
export function createListener(server: Server, credentials: ServerCredentials): Listener {
  const injector = server.createConnectionInjector(credentials);
  const open = new Set<Socket>();
  const sockets = createServer({ noDelay: true }, (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    closeUnlessItSpeaks(socket);
    injector.injectConnection(socket);
  });
  sockets.maxConnections = MAX_GRPC_CONNECTIONS;
  return {
    listen: ({ host, port }) => listen(sockets, host, port),
    close: () => {
      sockets.close();
    },
    destroy() {
      sockets.close();
      // What their peers are told is still on its way.
      setTimeout(() => {
        for (const socket of open) socket.destroy();
      }, SHUTDOWN_FLUSH_MS).unref();
    },
  };
}

/** HTTP/2 begins with 24 bytes of the client's, TLS with more. Whoever does not say them is no client of ours. */
const PREFACE_BYTES = 24;

function closeUnlessItSpeaks(socket: Socket): void {
  const timer = setTimeout(() => {
    if (socket.bytesRead < PREFACE_BYTES) socket.destroy();
  }, HELLO_TIMEOUT_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}

function listen(sockets: NetServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    sockets.once('error', reject);
    sockets.listen(port, host, () => {
      sockets.off('error', reject);
      const bound = sockets.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port);
    });
  });
}
