/**
 * A worker's stream in TypeScript, on grpc-js and protobuf-es alone: what the SDK does, in one file to read.
 * docs/workers.md tells why each part is there.
 */
import { randomBytes } from 'node:crypto';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials, type StatusObject, status } from '@grpc/grpc-js';
import {
  type AnswerSchema,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  type Dispatch,
  GoAwayReason,
  type ToolOfferSchema,
  type Welcome,
  type WorkerFrame,
  WorkerFrameSchema,
} from '../../gen/spindle/v1/worker_service_pb.ts';

export type Outcome = NonNullable<MessageInitShape<typeof AnswerSchema>['outcome']>;

export interface Handling {
  /** Aborted when the engine wants the handler to stop. */
  readonly signal: AbortSignal;
  progress(report: { completed: number; total: number; activity: string }): void;
}

export interface WorkerOptions {
  readonly address: string;
  readonly name: string;
  readonly tools: readonly MessageInitShape<typeof ToolOfferSchema>[];
  readonly maxInFlight: number;
  /** Runs a dispatch of tool.execute. What it throws becomes a failure. */
  readonly handle: (dispatch: Dispatch, handling: Handling) => Promise<Outcome>;
}

/** A dispatch that this process holds: running, or answered and not acknowledged. */
interface Held {
  readonly abort: AbortController;
  answer: WorkerFrame | undefined;
}

const CHANNEL = {
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 10_000,
  // The channel has a backoff of its own, of up to two minutes; the rules for it are those of 5.3.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 100,
};
const FIRST_BACKOFF_MS = 250;
const LAST_BACKOFF_MS = 15_000;
const DRAIN_MS = 30_000;
/** Trying again cannot help after these (5.3). */
const FINAL: readonly number[] = [
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.INVALID_ARGUMENT,
  status.UNIMPLEMENTED,
];

/** Serves until SIGTERM has drained it. Rejects where reconnecting cannot help. */
export function serve(options: WorkerOptions): Promise<void> {
  const client = new Client(options.address, credentials.createInsecure(), CHANNEL);
  const instanceId = randomBytes(16).toString('hex');
  const held = new Map<string, Held>();
  const over = Promise.withResolvers<void>();

  let stream: ClientDuplexStream<WorkerFrame[], ConnectResponse> | undefined;
  let streamNumber = 0;
  let resumeToken = '';
  let backoff = FIRST_BACKOFF_MS;
  let outbox: WorkerFrame[] = [];
  let welcome: Welcome | undefined;
  let receivedThrough = 0;
  let heartbeats = 0;
  let draining = false;
  let drained = false;
  let replaced = false;
  let lastHeard = 0;
  let heartbeatTimer: NodeJS.Timeout | undefined;

  const frame = (kind: NonNullable<MessageInitShape<typeof WorkerFrameSchema>['kind']>): WorkerFrame =>
    create(WorkerFrameSchema, { kind });

  /** Frames of one tick go in one message (5.2). */
  const send = (one: WorkerFrame): void => {
    if (stream === undefined) return;
    outbox.push(one);
    if (outbox.length === 1) setImmediate(flush);
  };
  const flush = (): void => {
    const frames = outbox;
    outbox = [];
    if (frames.length > 0) stream?.write(frames);
  };

  const heartbeat = (): void => {
    const leases = [...held.keys()];
    send(frame({ case: 'heartbeat', value: { sequence: ++heartbeats, receivedThrough, held: leases } }));
  };

  const connect = (): void => {
    // A lost stream cancels nothing: the hello names what is held, and the answers follow (5.5).
    outbox = [];
    welcome = undefined;
    drained = false;
    receivedThrough = 0;
    const opened = client.makeBidiStreamRequest(
      '/spindle.v1.WorkerService/Connect',
      (frames: WorkerFrame[]) =>
        Buffer.from(toBinary(ConnectRequestSchema, create(ConnectRequestSchema, { frames }))),
      (bytes: Buffer) => fromBinary(ConnectResponseSchema, bytes),
    );
    stream = opened;
    lastHeard = Date.now();
    opened.on('data', (response: ConnectResponse) => {
      if (stream !== opened) return;
      lastHeard = Date.now();
      for (const { kind } of response.frames) receive(kind);
    });
    // The status says what happened; without a listener the error event would end the process.
    opened.on('error', () => undefined);
    opened.on('status', (ended: StatusObject) => {
      if (stream === opened) lost(ended);
    });
    const hello = {
      instanceId,
      resumeToken,
      streamNumber: ++streamNumber,
      workerName: options.name,
      sdk: 'example-typescript',
      tools: [...options.tools],
      maxInFlight: options.maxInFlight,
      held: [...held].map(([leaseToken, { answer }]) => ({ leaseToken, answered: answer !== undefined })),
      draining,
    };
    opened.write([frame({ case: 'hello', value: hello })]);
  };

  const lost = (ended: StatusObject): void => {
    stream = undefined;
    clearInterval(heartbeatTimer);
    if (replaced || (drained && held.size === 0)) finish();
    else if (FINAL.includes(ended.code))
      finish(new Error(`the engine refused this worker: ${ended.details}`));
    else {
      setTimeout(connect, Math.random() * backoff);
      backoff = Math.min(backoff * 2, LAST_BACKOFF_MS);
    }
  };

  const reconnect = (): void => {
    const old = stream;
    stream = undefined;
    clearInterval(heartbeatTimer);
    old?.cancel();
    connect();
  };

  const finish = (error?: Error): void => {
    clearInterval(heartbeatTimer);
    process.off('SIGTERM', drain);
    client.close();
    if (error === undefined) over.resolve();
    else over.reject(error);
  };

  const receive = (kind: ConnectResponse['frames'][number]['kind']): void => {
    switch (kind.case) {
      case 'welcome':
        welcomed(kind.value);
        return;
      case 'dispatch':
        receivedThrough = kind.value.sequence;
        start(kind.value).catch((error: unknown) =>
          finish(error instanceof Error ? error : new Error(String(error))),
        );
        return;
      case 'cancel':
        held.get(kind.value.leaseToken)?.abort.abort();
        return;
      case 'acknowledge':
        held.delete(kind.value.leaseToken);
        leaveIfDone();
        return;
      case 'heartbeatReply':
        for (const lease of kind.value.abandon) held.get(lease)?.abort.abort();
        return;
      case 'drainReply':
        drained = true;
        leaveIfDone();
        return;
      case 'goAway':
        replaced = kind.value.reason === GoAwayReason.REPLACED;
        if (!replaced) reconnect();
        return;
      default:
        // Newer engines may say more (5.12).
        return;
    }
  };

  const welcomed = (value: Welcome): void => {
    welcome = value;
    resumeToken = value.resumeToken;
    backoff = FIRST_BACKOFF_MS;
    const interval =
      Number(value.heartbeatInterval?.seconds ?? 10n) * 1_000 + (value.heartbeatInterval?.nanos ?? 0) / 1e6;
    const silence =
      Number(value.silenceTimeout?.seconds ?? 30n) * 1_000 + (value.silenceTimeout?.nanos ?? 0) / 1e6;
    // Nothing is dispatched before the first heartbeat (5.1).
    heartbeat();
    heartbeatTimer = setInterval(() => {
      if (Date.now() - lastHeard > silence) reconnect();
      else heartbeat();
    }, interval);
    for (const lease of value.abandon) held.get(lease)?.abort.abort();
    for (const { answer } of held.values()) if (answer !== undefined) send(answer);
    if (draining) send(frame({ case: 'drain', value: {} }));
  };

  const start = async (dispatch: Dispatch): Promise<void> => {
    const { leaseToken } = dispatch;
    if (dispatch.trigger?.kind.case !== 'toolExecute') {
      send(frame({ case: 'reject', value: { leaseToken, reason: 'this worker runs tools alone' } }));
      return;
    }
    const lease: Held = { abort: new AbortController(), answer: undefined };
    held.set(leaseToken, lease);
    const { signal } = lease.abort;
    const progress: Handling['progress'] = (report) => {
      if (lease.answer === undefined) send(frame({ case: 'progress', value: { leaseToken, ...report } }));
    };
    const outcome = await options.handle(dispatch, { signal, progress }).catch((error: unknown): Outcome => {
      if (signal.aborted) return { case: 'cancelled', value: {} };
      return {
        case: 'error',
        value: { code: 'tool_error', message: error instanceof Error ? error.message : String(error) },
      };
    });
    // Kept until it is acknowledged, and sent again after a reconnect (5.7).
    lease.answer = answerFrame(leaseToken, outcome);
    if (welcome !== undefined) send(lease.answer);
  };

  const answerFrame = (leaseToken: string, outcome: Outcome): WorkerFrame => {
    const answer = frame({ case: 'answer', value: { leaseToken, outcome } });
    const limit = welcome?.maxMessageBytes || 4 * 1024 * 1024;
    if (toBinary(WorkerFrameSchema, answer).byteLength + 64 <= limit) return answer;
    const error = {
      code: 'result_too_large',
      message: `The result is larger than a message of ${limit} bytes.`,
    };
    return frame({ case: 'answer', value: { leaseToken, outcome: { case: 'error', value: error } } });
  };

  /** Asks for no more work; what is held is finished, within a bound (5.9). */
  const drain = (): void => {
    if (draining) return;
    draining = true;
    send(frame({ case: 'drain', value: { reason: 'SIGTERM' } }));
    setTimeout(() => finish(), DRAIN_MS).unref();
  };

  const leaveIfDone = (): void => {
    if (!drained || held.size > 0) return;
    flush();
    stream?.end();
  };

  process.on('SIGTERM', drain);
  connect();
  return over.promise;
}
