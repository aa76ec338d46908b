/** Engine, worker and caller in one process: node examples/typescript/embedded.ts. For tests, and for small services. */
import { createClient } from 'spindle';
import { createEngine } from 'spindle/engine';
import { createWorker } from 'spindle/worker';
import { weather } from './weather.ts';

const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: false });
const worker = createWorker({ address: engine.grpcAddress, tools: [weather] });
const running = worker.run();
await worker.ready;

const client = createClient({ address: engine.grpcAddress });
const answer = await client.call(weather, { city: 'Tokyo' });
console.log(answer.ok ? answer.text : answer.error.message);

client.close();
await worker.stop();
await running;
await engine.stop();
