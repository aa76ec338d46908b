/** An engine's sessions, played by a test: a log of events that it appends to, and streams that it may break. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type SessionEvent, SessionEventSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { type DeltaSchema, Role } from '../../../gen/spindle/v1/message_pb.ts';
import {
  type RunTurnRequest,
  RunTurnResponseSchema,
  SessionService,
  type WatchSessionRequest,
  WatchSessionResponseSchema,
} from '../../../gen/spindle/v1/session_service_pb.ts';
import { ToolService } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { definitionOf } from '../engine-peer.ts';

export type EventKind = NonNullable<MessageInitShape<typeof SessionEventSchema>['kind']>;
type DeltaInit = Extract<MessageInitShape<typeof DeltaSchema>, { readonly $typeName?: never }>;

export interface PeerRequest {
  readonly method: string;
  // The tests know which message it is by the method.
  readonly request: Readonly<Record<string, unknown>>;
}

export interface SessionPeer {
  readonly address: string;
  readonly requests: PeerRequest[];
  /** The requests of one method. */
  sent(method: string): PeerRequest['request'][];
  /** Answers of single requests, by method; a function may throw a status. */
  readonly answers: Record<string, (request: PeerRequest['request']) => Record<string, unknown>>;
  /** Called with the first RunTurn of each turn id, once its stream is open. */
  onTurn: (turnId: string) => void;
  /** Called with each stream, before anything is written to it. A status ends it at once. */
  onStream: (method: string) => { readonly code: number; readonly details?: string } | undefined;
  /** Records events of a turn, and sends them to whoever watches. */
  append(turnId: string, ...kinds: readonly EventKind[]): void;
  delta(delta: DeltaInit): void;
  /** Ends the streams of RunTurn with OK: the turn waits for somebody. */
  pause(): void;
  /** Breaks every stream. */
  break(code: number, details?: string): void;
  /** The newest event. */
  readonly sequence: number;
  close(): void;
}

interface OpenStream {
  readonly kind: 'run' | 'watch';
  readonly event: (event: SessionEvent) => void;
  readonly delta: (delta: DeltaInit) => void;
  readonly end: () => void;
  readonly fail: (code: number, details: string) => void;
}

export async function startSessionPeer(sessionId = 's1'): Promise<SessionPeer> {
  const log: SessionEvent[] = [];
  const streams = new Set<OpenStream>();
  const turns = new Set<string>();
  const requests: PeerRequest[] = [];

  function open(
    call: ServerWritableStream<unknown, unknown>,
    kind: OpenStream['kind'],
    after: number,
    schema: typeof RunTurnResponseSchema | typeof WatchSessionResponseSchema,
    deltas: boolean,
  ): void {
    const stream: OpenStream = {
      kind,
      event: (event) => call.write(create(schema, { update: { kind: { case: 'event', value: event } } })),
      delta: (delta) => {
        if (deltas) call.write(create(schema, { update: { kind: { case: 'delta', value: delta } } }));
      },
      end: () => call.end(),
      fail: (code, details) => call.emit('error', { code, details }),
    };
    for (const event of log) if (event.sequence > after) stream.event(event);
    streams.add(stream);
    call.on('cancelled', () => streams.delete(stream));
  }

  const refusedStream = (method: string, call: ServerWritableStream<unknown, unknown>): boolean => {
    const status = peer.onStream(method);
    if (status !== undefined) call.emit('error', { details: 'as the test says', ...status });
    return status !== undefined;
  };

  const implementation: UntypedServiceImplementation = {
    runTurn(call: ServerWritableStream<RunTurnRequest, unknown>) {
      requests.push({ method: 'runTurn', request: { ...call.request.turn } });
      if (refusedStream('runTurn', call)) return;
      const turnId = call.request.turn?.turnId ?? '';
      open(call, 'run', 0, RunTurnResponseSchema, true);
      if (!turns.has(turnId)) {
        turns.add(turnId);
        peer.onTurn(turnId);
      }
    },
    watchSession(call: ServerWritableStream<WatchSessionRequest, unknown>) {
      requests.push({ method: 'watchSession', request: { ...call.request } });
      if (refusedStream('watchSession', call)) return;
      open(call, 'watch', call.request.afterSequence, WatchSessionResponseSchema, call.request.includeDeltas);
    },
  };
  const unary = (method: (typeof SessionService.methods | typeof ToolService.methods)[number]) => {
    implementation[method.localName] = (
      call: ServerUnaryCall<Record<string, unknown>, unknown>,
      answer: sendUnaryData<unknown>,
    ) => {
      requests.push({ method: method.localName, request: call.request });
      try {
        answer(null, create(method.output, peer.answers[method.localName]?.(call.request) ?? {}));
      } catch (error) {
        answer(error as Error);
      }
    };
  };
  for (const method of [...SessionService.methods, ...ToolService.methods]) {
    if (method.methodKind === 'unary') unary(method);
  }

  const server = new Server();
  server.addService(definitionOf(SessionService), implementation);
  server.addService(definitionOf(ToolService), implementation);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });

  const peer: SessionPeer = {
    address: `127.0.0.1:${port}`,
    requests,
    sent: (method) => requests.filter((sent) => sent.method === method).map(({ request }) => request),
    answers: {
      createSession: ({ sessionId: id, agentId }) => ({ session: { sessionId: id, agentId } }),
      getSession: () => ({ session: { sessionId, lastSequence: log.length, openItems: [] } }),
    },
    onTurn: () => undefined,
    onStream: () => undefined,
    append(turnId, ...kinds) {
      for (const kind of kinds) {
        const place = { sessionId, turnId, sequence: log.length + 1, occurredAt: { seconds: 5n } };
        const event = create(SessionEventSchema, { ...place, kind });
        log.push(event);
        for (const stream of streams) stream.event(event);
      }
    },
    delta(delta) {
      for (const stream of streams) stream.delta(delta);
    },
    pause() {
      for (const stream of streams) {
        if (stream.kind !== 'run') continue;
        stream.end();
        streams.delete(stream);
      }
    },
    break(code, details = 'as the test says') {
      for (const stream of streams) stream.fail(code, details);
      streams.clear();
    },
    get sequence() {
      return log.length;
    },
    close: () => server.forceShutdown(),
  };
  return peer;
}

/** A status that a request ends with. */
export function status(code: number, details = 'as the test says'): Error {
  return Object.assign(new Error(details), { code, details });
}

// What a model and tools do, as the log tells it.

export const started: EventKind = { case: 'turnStarted', value: {} };

/** One model call, from its request to its recorded message. */
export function said(modelCallId: string, words: string, messageId = `message-${modelCallId}`): EventKind[] {
  const text = {
    kind: { case: 'content' as const, value: { kind: { case: 'text' as const, value: { text: words } } } },
  };
  const message = { id: messageId, role: Role.ASSISTANT, parts: [text] };
  return [
    { case: 'modelCallRequested', value: { callId: modelCallId } },
    {
      case: 'modelCallFinished',
      value: { callId: modelCallId, outcome: { case: 'response', value: { message } } },
    },
    {
      case: 'messageRecorded',
      value: { message: { id: messageId, role: Role.ASSISTANT }, ofCallId: modelCallId },
    },
  ];
}

export function finished(answerId: string, outputJson = ''): EventKind {
  const value = {
    answer: { id: answerId },
    outputJson,
    iterations: 1,
    usage: { inputTokens: 2, outputTokens: 3 },
  };
  return { case: 'turnEnded', value: { outcome: { case: 'finished', value } } };
}
