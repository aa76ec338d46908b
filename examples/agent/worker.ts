/** The tools of the agent, on the files below a folder: node examples/agent/worker.ts FOLDER [ADDRESS]. */
import { createWorker } from 'spindle/worker';
import { openFolder } from './folder.ts';
import { folderTools } from './tools.ts';

const [, , path, address] = process.argv;
if (path === undefined) throw new Error('usage: worker.ts FOLDER [ADDRESS]');

const worker = createWorker({
  ...(address === undefined ? {} : { address }),
  name: 'folder',
  tools: folderTools(await openFolder(path)),
});
worker.ready.then(
  () => console.log('ready'),
  () => undefined,
);
await worker.run();
