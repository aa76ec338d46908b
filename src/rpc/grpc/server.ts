import { Server, type UntypedHandleCall } from '@grpc/grpc-js';
import {
  KEEPALIVE_INTERVAL_MS,
  KEEPALIVE_TIMEOUT_MS,
  MAX_MESSAGE_BYTES,
  MAX_REQUESTS_PER_CONNECTION,
} from '../../core/limits.ts';
import { unreachable } from '../../core/unreachable.ts';
import type { Address } from '../address.ts';
import { addHealth } from '../health.ts';
import { nameOf, type Serving } from '../invoke.ts';
import { bound, type Port } from '../port.ts';
import { addReflection } from '../reflection.ts';
import type { Method, Service } from '../service.ts';
import { decoder } from './codec.ts';
import { duplexCall } from './duplex.ts';
import { createListener } from './listener.ts';
import { explainOwnStatuses } from './own-status.ts';
import { serverCredentials } from './server-credentials.ts';
import { serverStreamCall } from './server-stream.ts';
import { unaryCall } from './unary.ts';

/** What every gRPC server may have, and an operator may close. */
export type StandardService = 'health' | 'reflection';

/** Serves the services by gRPC, with health checks, for whoever asks, and reflection, unless these are closed. */
export async function openGrpcPort(
  services: readonly Service[],
  serving: Serving,
  address: Address,
  closed: readonly StandardService[] = [],
): Promise<Port> {
  const server = createGrpcServer(services, serving);
  const health = closed.includes('health') ? undefined : addHealth(server, services);
  if (!closed.includes('reflection')) addReflection(server, services, serving);
  const listener = createListener(server, serverCredentials(serving.tls));
  return {
    address: await bound('gRPC', address, () => listener.listen(address)),
    leave: () => health?.stop(),
    close() {
      listener.close();
      return new Promise((resolve) => server.tryShutdown(() => resolve()));
    },
    destroy() {
      server.forceShutdown();
      listener.destroy();
    },
  };
}

function createGrpcServer(services: readonly Service[], serving: Serving): Server {
  const server = new Server({
    // Larger messages end their own request with RESOURCE_EXHAUSTED; others on the connection go on (3.4).
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': MAX_REQUESTS_PER_CONNECTION,
    // A peer that vanished without a FIN is noticed, also by a server that only waits.
    'grpc.keepalive_time_ms': KEEPALIVE_INTERVAL_MS,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    // Its tracking costs time on every message and serves a debugging service that nothing here offers.
    'grpc.enable_channelz': 0,
  });
  explainOwnStatuses(server);
  for (const method of services.flatMap(({ methods }) => methods)) {
    const { call, type } = callOf(method, serving);
    server.register(`/${nameOf(method.desc)}`, call, identity, decoder(method.desc.input), type);
  }
  return server;
}

const identity = (bytes: Buffer): Buffer => bytes;

/** The call that grpc-js makes for a method, and its word for the kind. */
function callOf(
  method: Method,
  serving: Serving,
): { readonly call: UntypedHandleCall; readonly type: string } {
  switch (method.kind) {
    case 'unary':
      return { call: unaryCall(method, serving), type: 'unary' };
    case 'server_streaming':
      return { call: serverStreamCall(method, serving), type: 'serverStream' };
    case 'bidi_streaming':
      return { call: duplexCall(method, serving), type: 'bidi' };
    default:
      return unreachable(method);
  }
}
