import type { DescMethod, Message } from '@bufbuild/protobuf';
import {
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  type HandlerContext,
  type ServiceImpl,
} from '@connectrpc/connect';
import { MAX_MESSAGE_BYTES, MAX_TIMER_MS } from '../../core/limits.ts';
import { accepted, type Outcome, refused } from '../../core/refusal.ts';
import type { Context } from '../context.ts';
import type { RequestContext } from '../handlers.ts';
import { invoke, invokeThen, nameOf, type Serving } from '../invoke.ts';
import type { Method, MethodOf, Service } from '../service.ts';
import { connectError } from '../status.ts';
import { createChannel } from './channel.ts';

/** The message of a request, which intake.ts has read. */
export const messageKey = createContextKey<Outcome<Message> | undefined>(undefined);
/** Who asks, or why it is turned away; found out before its message was read. */
export const contextKey = createContextKey<Context | undefined>(undefined);

type Unary = MethodOf<'unary'>;
type ServerStream = MethodOf<'server_streaming'>;

/** The services as connect serves them: by gRPC-Web, Connect and plain JSON. */
export function createRoutes(services: readonly Service[], serving: Serving): ConnectRouter {
  const router = createConnectRouter({
    // gRPC itself needs HTTP/2 and has its own port.
    grpc: false,
    acceptCompression: [],
    readMaxBytes: MAX_MESSAGE_BYTES,
    writeMaxBytes: MAX_MESSAGE_BYTES,
    maxTimeoutMs: MAX_TIMER_MS,
    requestGate({ method }) {
      if (method.methodKind === 'bidi_streaming') throw needsGrpc(method);
    },
  });
  for (const { desc, methods } of services) {
    const implementation = Object.fromEntries(
      methods.map((method) => [method.desc.localName, implementationOf(method, serving)]),
    );
    // Types were erased in service.ts; the router pairs methods and functions by name, as that did.
    router.service(desc, implementation as Partial<ServiceImpl<typeof desc>>);
  }
  return router;
}

function implementationOf(method: Method, serving: Serving): unknown {
  switch (method.kind) {
    case 'unary':
      return unary(method, serving);
    case 'server_streaming':
      return serverStream(method, serving);
    case 'bidi_streaming':
      // The gate has turned the request away.
      return () => {
        throw needsGrpc(method.desc);
      };
  }
}

function needsGrpc(method: DescMethod) {
  const text = `${nameOf(method)} streams in both directions, which this port cannot do. Call it on the gRPC port.`;
  return connectError(refused('not_implemented', text).refusal);
}

function unary({ desc, handle }: Unary, serving: Serving) {
  return async (_empty: Message, call: HandlerContext): Promise<Message> => {
    const over = Promise.withResolvers<never>();
    // connect waits for a handler beyond the deadline; the caller should not.
    whenAborted(call.signal, (reason) => over.reject(reason));
    const leave = serving.requests.add((refusal) => over.reject(connectError(refusal)));
    try {
      const answer = invoke(desc, serving.observer, async () => {
        const request = readRequest(call);
        return request.ok ? handle(request.value.message, request.value.context) : request;
      });
      const outcome = await Promise.race([answer, over.promise]);
      if (!outcome.ok) throw connectError(outcome.refusal);
      return outcome.value;
    } finally {
      leave();
    }
  };
}

function serverStream({ desc, handle }: ServerStream, serving: Serving) {
  return async function* (_empty: Message, call: HandlerContext): AsyncGenerator<Message, void, undefined> {
    const channel = createChannel<Message>();
    whenAborted(call.signal, (reason) => channel.close(reason));
    const leave = serving.requests.add((refusal) => channel.close(connectError(refusal)));
    try {
      const answer = async (): Promise<Outcome<void>> => {
        const request = readRequest(call);
        return request.ok ? handle(request.value.message, channel.out, request.value.context) : request;
      };
      invokeThen(desc, serving.observer, answer, (outcome) =>
        channel.close(outcome.ok ? undefined : connectError(outcome.refusal)),
      );
      yield* channel.messages();
    } finally {
      leave();
    }
  };
}

function whenAborted(signal: AbortSignal, then: (reason: unknown) => void): void {
  if (signal.aborted) then(signal.reason);
  else signal.addEventListener('abort', () => then(signal.reason), { once: true });
}

function readRequest(
  call: HandlerContext,
): Outcome<{ readonly message: Message; readonly context: RequestContext }> {
  const context = call.values.get(contextKey);
  const message = call.values.get(messageKey);
  if (context === undefined || message === undefined)
    throw new Error('a request reached its handler without passing intake.ts');
  if (!context.ok) return context;
  if (!message.ok) return message;
  // connect's own signal knows of the deadline as well.
  return accepted({ message: message.value, context: { ...context.value, signal: call.signal } });
}
