/** The demo's worker, a process of its own: node worker.ts ADDRESS WORKSPACE [STEP THAT BREAKS]. */
import { createWorker } from 'spindle/worker';
import { isStep } from './record.ts';
import { demoTools } from './tools.ts';

const [address, workspace, step] = process.argv.slice(2);
if (address === undefined || workspace === undefined)
  throw new Error('usage: worker.ts ADDRESS WORKSPACE [STEP]');

const broken = isStep(step) ? step : undefined;
const worker = createWorker({ address, name: 'demo', tools: demoTools({ workspace, broken }) });
const running = worker.run();
await worker.ready;
console.log('ready');
await running;
