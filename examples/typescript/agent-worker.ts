/** A worker with agents: node examples/typescript/agent-worker.ts [address]. It drains on SIGTERM and on Ctrl-C. */
import { createWorker } from 'spindle/worker';
import { clerk, parrot, teller } from './agents.ts';
import { weather } from './weather.ts';

const [address] = process.argv.slice(2);

const worker = createWorker({
  ...(address === undefined ? {} : { address }),
  name: 'agents',
  agents: [clerk, teller, parrot],
  tools: [weather],
});

const served = worker.run();
await worker.ready;
console.log('ready');
await served;
console.log('drained');
