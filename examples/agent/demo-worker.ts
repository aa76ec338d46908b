/** The worker of the demonstration: node demo-worker.ts ADDRESS FOLDER MODEL LEDGER. */
import { createWorker } from 'spindle/worker';
import { folderAgent } from './agent.ts';
import { checksumsTool } from './checksums.ts';
import { openFolder } from './folder.ts';
import { folderTools } from './tools.ts';

const [address, path, model, ledger] = process.argv.slice(2);
if (address === undefined || path === undefined || model === undefined || ledger === undefined)
  throw new Error('usage: demo-worker.ts ADDRESS FOLDER MODEL LEDGER');

const folder = await openFolder(path);
const tools = [...folderTools(folder), checksumsTool(folder, ledger)];
const worker = createWorker({
  address,
  name: 'folder',
  agents: [folderAgent(tools, model)],
  // That the engine goes away for a moment is part of the demonstration.
  onStatus: () => undefined,
});
const running = worker.run();
await worker.ready;
console.log('ready');
await running;
