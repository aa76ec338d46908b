/** The agent and its tools, on the files below a folder: node examples/agent/worker.ts FOLDER [MODEL] [ADDRESS]. */
import { createWorker } from 'spindle/worker';
import { folderAgent } from './agent.ts';
import { openFolder } from './folder.ts';
import { folderTools } from './tools.ts';

// The local model needs no key and no network; any provider/model takes its place.
const [path, model = 'local/demo', address] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: worker.ts FOLDER [MODEL] [ADDRESS]');

const worker = createWorker({
  ...(address === undefined ? {} : { address }),
  name: 'folder',
  agents: [folderAgent(folderTools(await openFolder(path)), model)],
});
const served = worker.run();
await worker.ready;
console.log('ready');
await served;
