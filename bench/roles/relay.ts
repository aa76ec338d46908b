/**
 * The floor: what grpc-js, the messages and one process between two others cost, whatever that process does. It
 * hands calls to the one worker that is there and answers back. It writes every field and every frame that the
 * engine writes, and checks, records and remembers nothing.
 */
import { create } from '@bufbuild/protobuf';
import { AnswerVerdict, type ToolResult, ToolResultSchema } from '../../gen/spindle/v1/result_pb.ts';
import {
  type CallUpdate,
  CallUpdateSchema,
  StreamCallsResponseSchema,
  ToolService,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import {
  type Acknowledge,
  AcknowledgeSchema,
  ConnectResponseSchema,
  type Dispatch,
  DispatchSchema,
  type EngineFrame,
  EngineFrameSchema,
  WorkerService,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import { duration, timestamp } from '../../src/core/time.ts';
import { serveRole } from '../role.ts';
import { coalesce, served, serveStreams } from '../wire.ts';

let toWorker: ((frame: EngineFrame) => void) | undefined;
const callers = new Map<string, (update: CallUpdate) => void>();

const workers = served(WorkerService.method.connect, (out) => {
  const send = coalesce<EngineFrame>((frames) => out.write(create(ConnectResponseSchema, { frames })));
  return ({ frames }) => {
    for (const { kind } of frames) {
      if (kind.case === 'hello') {
        toWorker = send;
        send(create(EngineFrameSchema, { kind: { case: 'welcome', value: {} } }));
      }
      if (kind.case !== 'answer' || kind.value.outcome.case !== 'valueJson') continue;
      const { leaseToken } = kind.value;
      send(create(EngineFrameSchema, { kind: { case: 'acknowledge', value: acknowledge(leaseToken) } }));
      const callId = leaseToken.slice(PREFIX.length);
      callers.get(callId)?.(finished(callId, textResult(kind.value.outcome.value)));
      callers.delete(callId);
    }
  };
});

const clients = served(ToolService.method.streamCalls, (out) => {
  const reply = coalesce<CallUpdate>((updates) => out.write(create(StreamCallsResponseSchema, { updates })));
  return ({ calls }) => {
    for (const { callId, name, arguments: text } of calls) {
      callers.set(callId, reply);
      toWorker?.(
        create(EngineFrameSchema, { kind: { case: 'dispatch', value: dispatch(callId, name, text) } }),
      );
    }
  };
});

/** As long as the random part of a lease token, and then what names the session of a call. */
const PREFIX = `${'x'.repeat(22)}/call:`;
const RUN_MS = 120_000;
let sequence = 0;

function dispatch(callId: string, name: string, text: string): Dispatch {
  return create(DispatchSchema, {
    leaseToken: PREFIX + callId,
    sequence: ++sequence,
    sessionId: `call:${callId}`,
    caller: { tenant: 'default', subject: 'anonymous' },
    trigger: {
      kind: {
        case: 'toolExecute',
        value: {
          callId,
          name,
          arguments: text,
          attempt: 1,
          input: { status: { case: 'valid', value: {} } },
          idempotencyKey: callId.padEnd(22),
          deadline: timestamp(Date.now() + RUN_MS),
          timeRemaining: duration(RUN_MS),
        },
      },
    },
  });
}

function acknowledge(leaseToken: string): Acknowledge {
  return create(AcknowledgeSchema, { leaseToken, verdict: AnswerVerdict.RECORDED });
}

function textResult(text: string): ToolResult {
  return create(ToolResultSchema, { content: [{ kind: { case: 'text', value: { text } } }] });
}

function finished(callId: string, result: ToolResult): CallUpdate {
  const outcome = { case: 'result', value: result } as const;
  return create(CallUpdateSchema, {
    callId,
    kind: { case: 'finished', value: { callId, attempts: 1, outcome } },
  });
}

serveRole({ address: await serveStreams([workers, clients]) });
