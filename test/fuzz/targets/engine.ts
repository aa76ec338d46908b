import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import { StreamCallsRequestSchema, ToolService } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { ConnectRequestSchema } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { openEngine, type TestEngine } from '../../e2e/engine.ts';
import type { RandomSource } from '../../schema/fuzz/random.ts';
import { mutateBytes, mutateText } from '../mutate.ts';
import type { Target } from '../target.ts';

/** Statuses that say: this is your fault, or not now. INTERNAL and UNKNOWN say that it is ours. */
const OURS: ReadonlySet<number> = new Set([2, 13, 15]);

/** An engine that has to go on, and to find no fault of its own, whatever comes. */
async function openSubject(): Promise<TestEngine & { fault(): string | undefined }> {
  const engine = await openEngine();
  return {
    ...engine,
    fault() {
      const report = engine.reports.find(({ level }) => level === 'error');
      return report && `the engine reported ${JSON.stringify(report)}`;
    },
  };
}

const tool = { name: 't', inputSchemaJson: '{"type":"object","properties":{"a":{"type":"string"}}}' };

function bytesOf<S extends DescMessage>(schema: S, init: MessageInitShape<S>): Uint8Array {
  return toBinary(schema, create(schema, init));
}

const WORKER_MESSAGES = [
  bytesOf(ConnectRequestSchema, {
    frames: [{ kind: { case: 'hello', value: { instanceId: 'i', streamNumber: 1, tools: [{ tool }] } } }],
  }),
  bytesOf(ConnectRequestSchema, {
    frames: [
      {
        kind: {
          case: 'hello',
          value: { instanceId: 'j', streamNumber: 1, held: [{ leaseToken: 'a.call:b' }] },
        },
      },
      { kind: { case: 'heartbeat', value: { sequence: 1, held: ['a.call:b'] } } },
      {
        kind: {
          case: 'answer',
          value: { leaseToken: 'a.call:b', outcome: { case: 'valueJson', value: '{"a":1}' } },
        },
      },
      { kind: { case: 'progress', value: { leaseToken: 'a.call:b', activity: 'x' } } },
      { kind: { case: 'setTools', value: { tools: [{ tool }] } } },
      { kind: { case: 'capacity', value: { maxInFlight: 3 } } },
    ],
  }),
] as const;

const CALL_MESSAGES = [
  bytesOf(StreamCallsRequestSchema, {
    calls: [{ name: 't', callId: 'c', arguments: '{"a":"x"}', traceContext: { traceparent: '00-x' } }],
    cancelCallIds: ['c'],
  }),
] as const;

/** Messages of a stream in both directions, as bytes in base64. */
function streamTarget(path: string, seeds: readonly [Uint8Array, ...Uint8Array[]]) {
  return async (): Promise<Target> => {
    const subject = await openSubject();
    const client = new Client(subject.address, credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    return {
      make: (random) => Buffer.from(mutateBytes(random, random.pick(seeds))).toString('base64'),
      async examine(fuzzCase) {
        const stream = client.makeBidiStreamRequest(path, same, same);
        const code = await new Promise<number>((resolve) => {
          stream.on('data', () => undefined);
          stream.on('error', () => undefined);
          stream.on('status', (status) => resolve(status.code));
          stream.write(Buffer.from(fuzzCase, 'base64'));
          stream.end();
        });
        return OURS.has(code) ? `ended with status ${code}` : subject.fault();
      },
      async [Symbol.asyncDispose]() {
        client.close();
        await subject[Symbol.asyncDispose]();
      },
    };
  };
}

export const openWorkerFrames = streamTarget('/spindle.v1.WorkerService/Connect', WORKER_MESSAGES);
export const openCallFrames = streamTarget('/spindle.v1.ToolService/StreamCalls', CALL_MESSAGES);

const METHODS = ToolService.methods.map(({ name }) => name);
const TYPES = [
  'application/json',
  'application/proto',
  'application/grpc-web+proto',
  'application/grpc-web',
  'application/connect+json',
  'application/connect+proto',
  'application/json; charset=utf-16',
  'text/html',
] as const;
const BODIES = [
  '{"name":"t","arguments":"{}","callId":"c"}',
  '{"call":{"name":"t"}}',
  '{"pageSize":5,"pageToken":"AAAA"}',
  '\0\0\0\0\x02{}',
] as const;

interface HttpCase {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Base64. */
  readonly body: string;
}

/** Requests of the HTTP port, as JSON. */
export async function openHttpBodies(): Promise<Target> {
  const subject = await openSubject();
  const makeCase = (random: RandomSource): HttpCase => {
    const text = Buffer.from(mutateText(random, random.pick(BODIES)));
    const body = random.below(2) === 0 ? text : Buffer.from(mutateBytes(random, text));
    const method = METHODS[random.below(METHODS.length)] ?? 'ListTools';
    return {
      path: random.below(10) === 0 ? '/mcp' : `/spindle.v1.ToolService/${method}`,
      headers: {
        'content-type': random.pick(TYPES),
        // A call that nobody serves would be waited for.
        'connect-timeout-ms': '50',
        'grpc-timeout': '50m',
        ...(random.below(8) === 0 ? { authorization: 'Bearer x', 'content-encoding': 'gzip' } : {}),
      },
      body: body.toString('base64'),
    };
  };
  return {
    make: (random) => JSON.stringify(makeCase(random)),
    async examine(fuzzCase) {
      const { path, headers, body }: HttpCase = JSON.parse(fuzzCase);
      const answer = await fetch(`${subject.url}${path}`, {
        method: 'POST',
        headers,
        body: Buffer.from(body, 'base64'),
      });
      const text = await answer.text();
      const isOurs = answer.status === 500 || /"code":"(internal|unknown)"/.test(text);
      return isOurs ? `answered ${answer.status}: ${text}` : subject.fault();
    },
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  };
}
