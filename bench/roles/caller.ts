/** A caller that costs as little as one can: `caller.ts ADDRESS`. */
import { create } from '@bufbuild/protobuf';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  StreamCallsRequestSchema,
  ToolService,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import { beginLoad, type Loading } from '../load.ts';
import { serveRole } from '../role.ts';
import { ARGUMENTS } from '../tools.ts';
import { openStream } from '../wire.ts';

const [address = ''] = process.argv.slice(2);
const startedAt = new Map<string, number>();
let loading: Loading | undefined;
let waiting: CallToolRequest[] = [];
let made = 0;

const stream = openStream(ToolService.method.streamCalls, address, ({ updates }) => {
  for (const { callId, kind } of updates) {
    const began = startedAt.get(callId);
    startedAt.delete(callId);
    if (kind.case !== 'finished' || kind.value.outcome.case !== 'result' || began === undefined) {
      throw new Error(`call ${callId} did not end with a result: ${JSON.stringify(kind)}`);
    }
    loading?.ended(began);
  }
  flush();
});

function start(tool: string): void {
  const callId = `${process.pid}-${++made}`;
  startedAt.set(callId, performance.now());
  waiting.push(create(CallToolRequestSchema, { name: tool, arguments: ARGUMENTS, callId }));
}

/** What one message brought leads to one message. */
function flush(): void {
  if (waiting.length === 0) return;
  const calls = waiting;
  waiting = [];
  stream.write(create(StreamCallsRequestSchema, { calls }));
}

serveRole({
  load(load) {
    loading = beginLoad(load, () => start(load.tool));
    flush();
    return loading.result;
  },
  open(tool, calls) {
    for (let index = 0; index < calls; index++) start(tool);
    flush();
  },
});
