/** A worker made with the SDK, as users write it: `sdk-worker.ts ADDRESS`. */
import { z } from 'zod';
import { createWorker, defineTool } from '../../src/sdk/worker/index.ts';
import { serveRole } from '../role.ts';
import { ECHO, MAX_IN_FLIGHT } from '../tools.ts';

const [address = ''] = process.argv.slice(2);
const echo = defineTool({
  name: ECHO,
  description: 'Answers at once with its arguments.',
  schema: z.strictObject({
    city: z.string().min(1),
    unit: z.enum(['celsius', 'fahrenheit']).optional(),
    days: z.int().min(1).max(14).optional(),
  }),
  execute: (params) => params,
});
const worker = createWorker({ address, tools: [echo], maxInFlight: MAX_IN_FLIGHT });
worker.run().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
await worker.ready;
serveRole({});
