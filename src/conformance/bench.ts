import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import type { Decision } from '../../gen/spindle/v1/action_pb.ts';
import { type ToolInput, ToolInputSchema } from '../../gen/spindle/v1/tool_pb.ts';
import {
  type Dispatch,
  DispatchSchema,
  HeartbeatReplySchema,
  type Hello,
  type Welcome,
  WelcomeSchema,
  WorkerService,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import { MAX_MESSAGE_BYTES, RECONNECT_INITIAL_MS } from '../core/limits.ts';
import { duration } from '../core/time.ts';
import { parseAddress } from '../rpc/address.ts';
import { listen } from '../rpc/listen.ts';
import { service } from '../rpc/service.ts';
import { pass, within } from './deadline.ts';
import { FRAME_TIMEOUT_MS, HEARTBEAT_MS, RESUME_GRACE_MS, SILENCE_MS, START_TIMEOUT_MS } from './limits.ts';
import { startWorker, type WorkerProcess } from './process.ts';
import { openProxy } from './proxy.ts';
import { createStream, type Stream } from './stream.ts';

/** A worker process and the engine that it believes to talk to. */
export interface Bench {
  readonly process: WorkerProcess;
  /** The worker's next stream: it has connected, and said nothing that was read yet. */
  connection(): Promise<Stream>;
  /** Its next stream after the hello, the welcome, and the first heartbeat. */
  serving(welcome?: WelcomeOptions): Promise<Serving>;
  /** Breaks the network between them. */
  cut(): void;
  /** Streams that were opened so far. */
  readonly connections: number;
  close(): Promise<void>;
}

export interface Serving {
  readonly stream: Stream;
  readonly hello: Hello;
  readonly welcome: Welcome;
  /** Calls a tool, and says under which lease. */
  dispatch(tool: string, args: string, options?: DispatchOptions): string;
}

export interface WelcomeOptions {
  readonly abandon?: readonly string[];
  /** How long the worker waits for its welcome, in milliseconds. Default 0. */
  readonly welcomeAfterMs?: number;
  readonly maxMessageBytes?: number;
  /** What the welcome says about the interval of heartbeats. Default HEARTBEAT_MS. */
  readonly heartbeatMs?: number;
  /** Answer heartbeats; without it the worker hears nothing. */
  readonly answerHeartbeats?: boolean;
}

export interface DispatchOptions {
  readonly attempt?: number;
  readonly input?: ToolInput;
  readonly proposed?: Decision;
  readonly traceContext?: Readonly<Record<string, string>>;
  readonly timeRemainingMs?: number;
}

export const VALID: ToolInput = create(ToolInputSchema, { status: { case: 'valid', value: {} } });

/**
 * Rejects with an UnstartableError where the system cannot run the command.
 *
 * @param patienceMs how long the worker has for its next frame
 */
export async function openBench(
  command: readonly string[],
  patienceMs: number = FRAME_TIMEOUT_MS,
): Promise<Bench> {
  const arrived: Stream[] = [];
  let waiting: ((stream: Stream) => void)[] = [];
  let connections = 0;
  const workers = service(
    WorkerService,
    {
      connect(duplex) {
        connections++;
        const stream = createStream(duplex, patienceMs);
        const [first, ...rest] = waiting;
        waiting = rest;
        if (first === undefined) arrived.push(stream);
        else first(stream);
      },
    },
    { http: false },
  );
  const listening = await listen({
    services: [workers],
    grpc: '127.0.0.1:0',
    observer: { report: () => undefined },
  });
  const target = parseAddress(listening.grpcAddress);
  if (!target.ok) throw new Error(target.refusal.message);
  const proxy = await openProxy(target.value);
  const process = startWorker(command, proxy.address);
  const close = async (): Promise<void> => {
    await process.kill();
    await proxy.close();
    await listening.drain(0);
  };
  await process.started.catch(async (error: unknown) => {
    await close();
    throw error;
  });
  let started = false;

  const connection = async (): Promise<Stream> => {
    const next = arrived.shift() ?? new Promise<Stream>((resolve) => waiting.push(resolve));
    // A welcome resets the wait before a reconnect (5.3).
    const timeout = started ? patienceMs + RECONNECT_INITIAL_MS : START_TIMEOUT_MS;
    const ended = process.exited.then((exit) => {
      throw new Error(`the worker ended with ${exit}`);
    });
    // Only the race below looks at it; a worker that ends later is no error of this wait.
    ended.catch(() => undefined);
    const stream = await within(timeout, 'a connection', Promise.race([next, ended]), () => 'none');
    started = true;
    return stream;
  };

  return {
    process,
    connection,
    async serving(options = {}) {
      const stream = await connection();
      return await serve(stream, options);
    },
    cut: proxy.cut,
    get connections() {
      return connections;
    },
    close,
  };
}

/** Welcomes a worker, and waits for the heartbeat that lets dispatches follow (5.1). */
async function serve(stream: Stream, options: WelcomeOptions): Promise<Serving> {
  const hello = await stream.hello();
  await pass(options.welcomeAfterMs ?? 0);
  const welcome = create(WelcomeSchema, {
    connectionId: token(),
    resumeToken: token(),
    heartbeatInterval: duration(options.heartbeatMs ?? HEARTBEAT_MS),
    silenceTimeout: duration(SILENCE_MS),
    resumeGrace: duration(RESUME_GRACE_MS),
    maxMessageBytes: options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
    abandon: [...(options.abandon ?? [])],
  });
  stream.send({ case: 'welcome', value: welcome });
  const first = await stream.next('heartbeat', 'a heartbeat at once on the welcome');
  stream.send({ case: 'heartbeatReply', value: create(HeartbeatReplySchema, { sequence: first.sequence }) });
  if (options.answerHeartbeats !== false) answerHeartbeats(stream);
  let sequence = 0;
  return {
    stream,
    hello,
    welcome,
    dispatch(tool, args, dispatched) {
      const frame = dispatchOf(tool, args, ++sequence, dispatched);
      stream.send({ case: 'dispatch', value: frame });
      return frame.leaseToken;
    },
  };
}

/** Keeps the stream alive, while leaving the heartbeats to the rules that look at them. */
function answerHeartbeats(stream: Stream): void {
  let answered = 0;
  const timer = setInterval(() => {
    const beats = stream.received.flatMap(({ kind }) =>
      kind.case === 'heartbeat' ? [kind.value.sequence] : [],
    );
    for (const sequence of beats.slice(answered)) {
      stream.send({ case: 'heartbeatReply', value: create(HeartbeatReplySchema, { sequence }) });
    }
    answered = beats.length;
  }, HEARTBEAT_MS / 2);
  timer.unref();
  stream.ended.then(
    () => clearInterval(timer),
    () => clearInterval(timer),
  );
}

function dispatchOf(tool: string, args: string, sequence: number, options: DispatchOptions = {}): Dispatch {
  const id = token();
  return create(DispatchSchema, {
    leaseToken: `${token()}/call:${id}`,
    sequence,
    sessionId: `call:${id}`,
    caller: { tenant: 'default', subject: 'conformance' },
    traceContext: { ...options.traceContext },
    ...(options.proposed === undefined ? {} : { proposed: options.proposed }),
    trigger: {
      kind: {
        case: 'toolExecute',
        value: {
          callId: id,
          name: tool,
          arguments: args,
          input: options.input ?? VALID,
          attempt: options.attempt ?? 1,
          idempotencyKey: token(),
          timeRemaining: duration(options.timeRemainingMs ?? 60_000),
        },
      },
    },
  });
}

function token(): string {
  return randomBytes(16).toString('base64url');
}
