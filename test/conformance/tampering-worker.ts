/**
 * A worker that breaks one rule: the reference worker behind a relay that tampers with its frames.
 *
 *     node test/conformance/tampering-worker.ts BREACH
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type StatusObject,
} from '@grpc/grpc-js';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import { BREACHES, createBreach } from './breaches.ts';

const PATH = '/spindle.v1.WorkerService/Connect';
const name = process.argv[2] ?? 'none';
if (!BREACHES.includes(name)) throw new Error(`unknown breach ${name}`);

const upstream = new Client(process.env['SPINDLE_ADDRESS'] ?? '', credentials.createInsecure());
const breach = createBreach(name);
const server = new Server({ 'grpc.max_receive_message_length': -1 });

server.register(
  PATH,
  (down: ServerDuplexStream<ConnectRequest, ConnectResponse>) => {
    const up = upstream.makeBidiStreamRequest(
      PATH,
      (message: ConnectRequest) => Buffer.from(toBinary(ConnectRequestSchema, message)),
      (bytes: Buffer) => fromBinary(ConnectResponseSchema, bytes),
    );
    const stream = breach.stream({
      toEngine: (frames) => frames.length > 0 && up.write(create(ConnectRequestSchema, { frames })),
      toWorker: (frames) => frames.length > 0 && down.write(create(ConnectResponseSchema, { frames })),
      cut: () => up.cancel(),
    });
    down.on('data', (message: ConnectRequest) => stream.fromWorker(message.frames));
    down.on('end', () => up.end());
    down.on('cancelled', () => up.cancel());
    up.on('data', (message: ConnectResponse) => {
      if (message.$unknown !== undefined) {
        const unknown = create(ConnectResponseSchema);
        unknown.$unknown = message.$unknown;
        down.write(unknown);
      }
      stream.fromEngine(message.frames);
    });
    // The status that follows says the same.
    up.on('error', () => undefined);
    up.on('status', (status: StatusObject) => {
      const { code, details } = breach.status(status);
      if (code === 0) down.end();
      else down.emit('error', { code, details });
    });
  },
  (message: ConnectResponse) => Buffer.from(toBinary(ConnectResponseSchema, message)),
  (bytes: Buffer) => fromBinary(ConnectRequestSchema, bytes),
  'bidi',
);

server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  const script = fileURLToPath(new URL('../../examples/typescript-grpc/worker.ts', import.meta.url));
  const env = { ...process.env, SPINDLE_ADDRESS: `127.0.0.1:${port}` };
  const worker = spawn(process.execPath, [script], { env, stdio: 'inherit' });
  // The signal reaches the whole group: the worker drains, and this process leaves with it.
  process.on('SIGTERM', () => undefined);
  worker.on('exit', (code, signal) => process.exit(breach.exitCode(code ?? (signal === null ? 0 : 1))));
});
