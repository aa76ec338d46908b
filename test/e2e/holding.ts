import type { MessageInitShape } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import type { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import type {
  CallToolRequestSchema,
  CallToolResponse,
  StreamCallToolResponse,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import type { TestEngine } from './engine.ts';
import { method, type ResponseStream } from './raw-client.ts';
import { type Outcome, type RawWorker, textResult, type Work } from './raw-worker.ts';

/** A raw worker in the middle of a call of a tool of its own. */
export interface Holding {
  /** Of the tool, and of the call. */
  readonly name: string;
  readonly worker: RawWorker;
  readonly work: Work;
  /** What the caller sees. */
  readonly watching: ResponseStream<StreamCallToolResponse>;
  /** How the call ends. */
  end(): Promise<CallToolResponse>;
}

let names = 0;

/** A name that no other test uses. */
export function ownName(): string {
  return `own-${++names}`;
}

export async function holding(
  engine: TestEngine,
  call: Extract<MessageInitShape<typeof CallToolRequestSchema>, { readonly $typeName?: never }> = {},
  tool: Extract<MessageInitShape<typeof ToolSchema>, { readonly $typeName?: never }> = {},
): Promise<Holding> {
  const name = ownName();
  const worker = await engine.worker([{ name, ...tool }]);
  const watching = engine.client.stream(method.streamCallTool, { call: { name, callId: name, ...call } });
  const work = await worker.work();
  const end = () =>
    watching.take('end', ({ update }) => (update?.kind.case === 'finished' ? update.kind.value : undefined));
  return { name, worker, watching, work, end };
}

/** The worker still serves: nothing that it said has cost more than its own call. */
export async function stillServes(engine: TestEngine, { worker, name }: Holding): Promise<void> {
  const calling = engine.client.call(method.callTool, { name });
  await worker.answer((await worker.work()).leaseToken, textResult('still here'));
  expect((await calling).outcome.case).toBe('result');
}

/** Answers every dispatch in the same way, until the stream ends. */
export async function answerAll(worker: RawWorker, outcome: Outcome): Promise<void> {
  for (;;) {
    const work = await worker.work().catch(() => undefined);
    if (work === undefined) return;
    worker.send({ case: 'answer', value: { leaseToken: work.leaseToken, outcome } });
  }
}
