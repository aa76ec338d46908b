/** A worker of the SDK as a process of its own. Drains on SIGTERM, and ends with 0 when it has. */
import { createWorker, defineTool, type ToolContext } from '../../../../src/sdk/worker/index.ts';
import { onOrder, programOptions, tell } from './reports.ts';
import { AGAIN, createWork, GATED, ONCE, type WorkArguments } from './work.ts';

export interface WorkerProgram {
  readonly address: string;
  readonly name: string;
  /** The file of effects. */
  readonly effects: string;
  readonly maxInFlight: number;
  readonly drainTimeoutMs: number;
}

const { address, name, effects, maxInFlight, drainTimeoutMs } = programOptions<WorkerProgram>();
const work = createWork(effects, name);
const gate = Promise.withResolvers<void>();
onOrder((order) => {
  if (order.kind === 'release') gate.resolve();
});

const run = (args: WorkArguments, context: ToolContext, until?: Promise<unknown>): Promise<string> => {
  const { toolName: tool, callId, idempotencyKey, attempt } = context;
  return work.run({ tool, callId, idempotencyKey, attempt }, args, until);
};

const worker = createWorker({
  address,
  name,
  maxInFlight,
  drainTimeoutMs,
  tools: [
    defineTool({
      name: ONCE,
      description: 'Changes the world, once for each call',
      execute: (args: WorkArguments, context) => run(args, context),
    }),
    defineTool({
      name: AGAIN,
      description: 'Changes the world in a way that bears repeats',
      annotations: { idempotent: true },
      retry: { maxAttempts: 5, initialBackoffMs: 50, maxBackoffMs: 200 },
      execute: (args: WorkArguments, context) => run(args, context),
    }),
    defineTool({
      name: GATED,
      description: 'Changes the world once, and answers when it is told to',
      execute: (args: WorkArguments, context) => {
        tell({ kind: 'held', callId: context.callId });
        return run(args, context, gate.promise);
      },
    }),
  ],
  onStatus(status) {
    if (status.kind === 'connected') tell({ kind: 'connected', at: Date.now() });
    if (status.kind === 'draining') tell({ kind: 'draining' });
    if (status.kind === 'answer_refused' || status.kind === 'warning') console.error(JSON.stringify(status));
    if (status.kind === 'stopped') process.exitCode = status.unfinished === 0 ? 0 : 1;
  },
});
await worker.run();
process.exit();
