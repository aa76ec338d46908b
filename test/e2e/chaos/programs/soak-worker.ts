/** A worker of the SDK for long runs: its tool does nothing but answer. */
import { createWorker, defineTool } from '../../../../src/sdk/worker/index.ts';
import { programOptions, tell } from './reports.ts';
import { AGAIN, type WorkArguments } from './work.ts';

export interface SoakWorkerProgram {
  readonly address: string;
  readonly maxInFlight: number;
}

const { address, maxInFlight } = programOptions<SoakWorkerProgram>();
const answer = defineTool({
  name: AGAIN,
  description: 'Answers with its number',
  annotations: { idempotent: true },
  retry: { maxAttempts: 5, initialBackoffMs: 50 },
  execute: ({ number }: Pick<WorkArguments, 'number'>) => `${number}`,
});
const worker = createWorker({
  address,
  maxInFlight,
  tools: [answer],
  onStatus(status) {
    if (status.kind === 'connected') tell({ kind: 'connected', at: Date.now() });
  },
});
await worker.run();
