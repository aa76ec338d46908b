/** A worker that costs as little as one can: `worker.ts ADDRESS`. */
import { create } from '@bufbuild/protobuf';
import { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import {
  ConnectRequestSchema,
  type WorkerFrame,
  WorkerFrameSchema,
  WorkerService,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import { serveRole } from '../role.ts';
import { ECHO, HOLD, INPUT_SCHEMA, MAX_IN_FLIGHT } from '../tools.ts';
import { openStream } from '../wire.ts';

const [address = ''] = process.argv.slice(2);
const HEARTBEAT_INTERVAL_MS = 5_000;
const welcomed = Promise.withResolvers<void>();
/** Dispatches that are never answered; a heartbeat that left them out would give them up. */
const held: string[] = [];
let receivedThrough = 0;
let heartbeats = 0;

const stream = openStream(WorkerService.method.connect, address, ({ frames }) => {
  const answers: WorkerFrame[] = [];
  for (const { kind } of frames) {
    if (kind.case === 'welcome') welcomed.resolve();
    if (kind.case !== 'dispatch') continue;
    const { leaseToken, trigger, sequence } = kind.value;
    receivedThrough = sequence;
    if (trigger?.kind.case !== 'toolExecute') continue;
    if (trigger.kind.value.name === ECHO) answers.push(answer(leaseToken, trigger.kind.value.arguments));
    else held.push(leaseToken);
  }
  if (answers.length > 0) send(answers);
});

function answer(leaseToken: string, valueJson: string): WorkerFrame {
  return create(WorkerFrameSchema, {
    kind: { case: 'answer', value: { leaseToken, outcome: { case: 'valueJson', value: valueJson } } },
  });
}

function send(frames: WorkerFrame[]): void {
  stream.write(create(ConnectRequestSchema, { frames }));
}

const tools = [ECHO, HOLD].map((name) => ({
  tool: create(ToolSchema, { name, description: name, inputSchemaJson: INPUT_SCHEMA }),
}));
send([
  create(WorkerFrameSchema, {
    kind: {
      case: 'hello',
      value: { instanceId: `lean-${process.pid}`, streamNumber: 1, tools, maxInFlight: MAX_IN_FLIGHT },
    },
  }),
]);
await welcomed.promise;
// The first one tells the engine that dispatches may come (5.1); the relay ignores it.
beat();
setInterval(beat, HEARTBEAT_INTERVAL_MS);

function beat(): void {
  const value = { sequence: ++heartbeats, receivedThrough, held };
  send([create(WorkerFrameSchema, { kind: { case: 'heartbeat', value } })]);
}

serveRole({});
