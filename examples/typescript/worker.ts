/** A worker: node examples/typescript/worker.ts [address]. It drains on SIGTERM and on Ctrl-C. */
import { setTimeout } from 'node:timers/promises';
import { createWorker, defineTool, result, ToolError } from 'spindle/worker';
import { z } from 'zod';
import { weather } from './weather.ts';

const countdown = defineTool({
  name: 'countdown',
  description: 'Counts down to zero.',
  schema: z.object({ from: z.int().min(0) }),
  retry: { maxAttempts: 3, heartbeatTimeoutMs: 5_000 },
  async execute({ from }, { signal, progress, checkpoint, idempotencyKey }) {
    // A lost attempt is followed by one that starts where the last checkpoint was.
    const first = checkpoint === undefined ? from : Number(Buffer.from(checkpoint));
    for (let left = first; left > 0; left--) {
      progress({
        completed: from - left,
        total: from,
        activity: `${left} left`,
        checkpoint: Buffer.from(`${left}`),
      });
      // Rejects as soon as the call is cancelled, and the call then ends as cancelled.
      await setTimeout(20, undefined, { signal });
    }
    return result({ content: 'Lift-off!', details: { idempotencyKey } });
  },
});

const publish = defineTool({
  name: 'publish',
  description: 'Publishes a page once an editor has approved it.',
  schema: z.object({ page: z.string() }),
  execute({ page }, { defer }) {
    if (page === '') throw new ToolError('A page needs a name.', { code: 'no_such_page' });
    // The call stays open and holds no slot, until somebody settles it by its id.
    return defer({ timeoutMs: 3_600_000 });
  },
});

const [, , address] = process.argv;
const worker = createWorker({
  ...(address === undefined ? {} : { address }),
  name: 'example',
  tools: [weather, countdown, publish],
});
worker.ready.then(
  () => console.log('ready'),
  () => undefined,
);
await worker.run();
console.log('drained');
