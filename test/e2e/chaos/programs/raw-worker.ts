/**
 * A worker without the SDK: grpc-js, the generated messages and section 5 of the protocol, as somebody would write
 * it in another language. Drains on SIGTERM.
 */
import { randomUUID } from 'node:crypto';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import { type Tool, ToolSchema } from '../../../../gen/spindle/v1/tool_pb.ts';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  type Dispatch,
  type EngineFrame,
  type WorkerFrameSchema,
} from '../../../../gen/spindle/v1/worker_service_pb.ts';
import { programOptions, tell } from './reports.ts';
import { AGAIN, createWork, ONCE, type WorkArguments } from './work.ts';
import type { WorkerProgram } from './worker.ts';

type FrameInit = MessageInitShape<typeof WorkerFrameSchema>;

const HEARTBEAT_MS = 5_000;
const MAX_RECONNECT_MS = 250;

const { address, name, effects, maxInFlight } = programOptions<WorkerProgram>();
const work = createWork(effects, name);

const instanceId = randomUUID();
/** What it holds: the text of an answer that is not acknowledged yet, or undefined while the handler runs. */
const leases = new Map<string, string | undefined>();
let resumeToken = '';
let streamNumber = 0;
let receivedThrough = 0;
let beats = 0;
let draining = false;
/** Nothing is dispatched any more: the engine said so, or was told by a hello. */
let drained = false;
let stream: ClientDuplexStream<ConnectRequest, ConnectResponse> | undefined;

function send(...frames: FrameInit[]): void {
  stream?.write(create(ConnectRequestSchema, { frames }));
}

function answerFrame(leaseToken: string, text: string): FrameInit {
  const result = { content: [{ kind: { case: 'text' as const, value: { text } } }] };
  return { kind: { case: 'answer', value: { leaseToken, outcome: { case: 'result', value: result } } } };
}

function heartbeat(): FrameInit {
  beats += 1;
  return {
    kind: { case: 'heartbeat', value: { sequence: beats, receivedThrough, held: [...leases.keys()] } },
  };
}

function connect(): void {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const mine = client.makeBidiStreamRequest(
    '/spindle.v1.WorkerService/Connect',
    (message: ConnectRequest) => Buffer.from(toBinary(ConnectRequestSchema, message)),
    (bytes) => fromBinary(ConnectResponseSchema, bytes),
  );
  stream = mine;
  drained = draining;
  streamNumber += 1;
  receivedThrough = 0;
  let timer: NodeJS.Timeout | undefined;
  mine.on('data', ({ frames }: ConnectResponse) => {
    for (const frame of frames) {
      if (frame.kind.case === 'welcome') timer = setInterval(() => send(heartbeat()), HEARTBEAT_MS);
      receive(frame);
    }
  });
  // The status says the same, and comes in every case.
  mine.on('error', () => undefined);
  mine.on('status', () => {
    clearInterval(timer);
    client.close();
    stream = undefined;
    if (draining && leases.size === 0) process.exit(0);
    setTimeout(connect, Math.random() * MAX_RECONNECT_MS);
  });
  const held = [...leases].map(([leaseToken, text]) => ({ leaseToken, answered: text !== undefined }));
  const tools = [{ tool: definition(ONCE) }, { tool: definition(AGAIN) }];
  const hello = {
    instanceId,
    resumeToken,
    streamNumber,
    workerName: name,
    tools,
    maxInFlight,
    held,
    draining,
  };
  send({ kind: { case: 'hello', value: hello } });
}

function definition(toolName: string): Tool {
  const idempotent = toolName === AGAIN;
  return create(ToolSchema, {
    name: toolName,
    description: idempotent
      ? 'Changes the world in a way that bears repeats'
      : 'Changes the world, once for each call',
    annotations: { idempotent },
    retry: idempotent
      ? { maxAttempts: 5, initialBackoff: { nanos: 50_000_000 }, maxBackoff: { nanos: 200_000_000 } }
      : {},
  });
}

function receive({ kind }: EngineFrame): void {
  switch (kind.case) {
    case 'welcome':
      resumeToken = kind.value.resumeToken;
      tell({ kind: 'connected', at: Date.now() });
      send(
        heartbeat(),
        ...[...leases].flatMap(([token, text]) => (text === undefined ? [] : [answerFrame(token, text)])),
      );
      return;
    case 'dispatch':
      receivedThrough = kind.value.sequence;
      if (draining) send({ kind: { case: 'reject', value: { leaseToken: kind.value.leaseToken } } });
      else start(kind.value);
      return;
    case 'acknowledge':
      leases.delete(kind.value.leaseToken);
      leaveWhenDone();
      return;
    case 'drainReply':
      drained = true;
      leaveWhenDone();
      return;
    default:
      // A cancelled handler still answers, and after a go-away the stream ends by itself.
      return;
  }
}

function start({ leaseToken, trigger }: Dispatch): void {
  if (trigger?.kind.case !== 'toolExecute') return;
  const { callId, idempotencyKey, attempt, name: tool, arguments: text } = trigger.kind.value;
  leases.set(leaseToken, undefined);
  work.run({ tool, callId, idempotencyKey, attempt }, JSON.parse(text) as WorkArguments).then(
    (answer) => {
      leases.set(leaseToken, answer);
      send(answerFrame(leaseToken, answer));
    },
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}

function leaveWhenDone(): void {
  if (drained && leases.size === 0) stream?.end();
}

process.once('SIGTERM', () => {
  draining = true;
  send({ kind: { case: 'drain', value: { reason: 'SIGTERM' } } });
});
connect();
