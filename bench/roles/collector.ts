/** A collector: it takes spans over OTLP/gRPC, counts them, and keeps none. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { serveRole } from '../role.ts';

const EMPTY = Buffer.alloc(0);
let spans = 0;

const server = new Server({ 'grpc.max_receive_message_length': 64 * 1024 * 1024 });
const raw = (bytes: Buffer): Buffer => bytes;
server.addService(
  {
    export: {
      path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
      requestStream: false,
      responseStream: false,
      requestSerialize: raw,
      requestDeserialize: raw,
      responseSerialize: raw,
      responseDeserialize: raw,
    },
  },
  {
    export: ({ request }: { request: Buffer }, answer: (error: null, response: Buffer) => void) => {
      // Resource spans, scope spans, spans: fields 1, 2 and 2 of the messages around them.
      for (const resource of fields(request, 1))
        for (const scope of fields(resource, 2)) spans += count(scope, 2);
      answer(null, EMPTY);
    },
  },
);
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  serveRole({ address: `127.0.0.1:${port}`, count: () => spans });
});

/** The values of a field of messages; whatever else there is has to be delimited as well, as it is here. */
function* fields(bytes: Buffer, wanted: number): Generator<Buffer> {
  let offset = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[offset++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (offset < bytes.length) {
    const tag = varint();
    if ((tag & 7) !== 2) throw new Error(`a field of type ${tag & 7} is not expected here`);
    const length = varint();
    if (tag >> 3 === wanted) yield bytes.subarray(offset, offset + length);
    offset += length;
  }
}

function count(bytes: Buffer, wanted: number): number {
  let found = 0;
  for (const _ of fields(bytes, wanted)) found++;
  return found;
}
