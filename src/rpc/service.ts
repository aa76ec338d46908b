import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { unreachable } from '../core/unreachable.ts';
import type { BidiHandler, Handlers, ServerStreamHandler, UnaryHandler } from './handlers.ts';

/** A method and its handler, with the types of its messages erased, as both ports serve it. */
export type Method =
  | { readonly kind: 'unary'; readonly desc: DescMethod; readonly handle: UnaryHandler<Message, Message> }
  | {
      readonly kind: 'server_streaming';
      readonly desc: DescMethod;
      readonly handle: ServerStreamHandler<Message, Message>;
    }
  | {
      readonly kind: 'bidi_streaming';
      readonly desc: DescMethod;
      readonly handle: BidiHandler<Message, Message>;
    };

export type MethodOf<K extends Method['kind']> = Extract<Method, { readonly kind: K }>;

/** A service, ready to be served. */
export interface Service {
  readonly desc: DescService;
  readonly methods: readonly Method[];
  /** Serve it on the HTTP port as well. Workers connect by gRPC alone. */
  readonly http: boolean;
}

/** Joins a service's contract and its handlers. */
export function service<S extends DescService>(
  desc: S,
  handlers: Handlers<S>,
  options: { readonly http: boolean },
): Service {
  // The mapped type has paired each handler with its method; a loop over descriptors cannot express that
  // pairing, so the types are given up here and nowhere else.
  const erased = handlers as Readonly<Record<string, unknown>>;
  const methods = desc.methods.map((method) => join(method, erased[method.localName]));
  return { desc, http: options.http, methods };
}

function join(desc: DescMethod, handle: unknown): Method {
  const kind: DescMethod['methodKind'] = desc.methodKind;
  switch (kind) {
    case 'unary':
      return { kind: 'unary', desc, handle: handle as UnaryHandler<Message, Message> };
    case 'server_streaming':
      return { kind: 'server_streaming', desc, handle: handle as ServerStreamHandler<Message, Message> };
    case 'bidi_streaming':
      return { kind: 'bidi_streaming', desc, handle: handle as BidiHandler<Message, Message> };
    case 'client_streaming':
      throw new Error(`${desc.toString()}: client streams are not served; use a bidirectional stream`);
    default:
      return unreachable(kind);
  }
}
