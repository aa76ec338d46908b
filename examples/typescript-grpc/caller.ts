/** Calls a tool and watches it: run caller NAME [JSON]. SPINDLE_ADDRESS names the engine. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import {
  type StreamCallToolRequest,
  StreamCallToolRequestSchema,
  type StreamCallToolResponse,
  StreamCallToolResponseSchema,
} from '../../gen/spindle/v1/tool_service_pb.ts';

const [name = '', json = '{}'] = process.argv.slice(2);
const client = new Client(process.env['SPINDLE_ADDRESS'] ?? '127.0.0.1:7433', credentials.createInsecure());
const updates = client.makeServerStreamRequest<StreamCallToolRequest, StreamCallToolResponse>(
  '/spindle.v1.ToolService/StreamCallTool',
  (message) => Buffer.from(toBinary(StreamCallToolRequestSchema, message)),
  (bytes) => fromBinary(StreamCallToolResponseSchema, bytes),
  create(StreamCallToolRequestSchema, { call: { name, arguments: json } }),
);
for await (const { update } of updates as AsyncIterable<StreamCallToolResponse>) {
  const kind = update?.kind;
  if (kind?.case === 'progress') console.error(kind.value.activity);
  if (kind?.case !== 'finished') continue;
  const { outcome } = kind.value;
  if (outcome.case === 'error') throw new Error(`${outcome.value.code}: ${outcome.value.message}`);
  for (const { kind: block } of outcome.value?.content ?? [])
    if (block.case === 'text') console.log(block.value.text);
}
client.close();
