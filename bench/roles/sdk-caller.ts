/** A caller made with the SDK, as users write it: `sdk-caller.ts ADDRESS`. */
import { createClient } from '../../src/sdk/index.ts';
import { beginLoad, type Loading } from '../load.ts';
import { serveRole } from '../role.ts';
import { ARGUMENTS } from '../tools.ts';

const [address = ''] = process.argv.slice(2);
const client = createClient({ address });
const args = JSON.parse(ARGUMENTS);

async function call(tool: string, loading: () => Loading): Promise<void> {
  const startedAt = performance.now();
  const result = await client.call(tool, args);
  if (!result.ok) throw new Error(`a call did not end with a result: ${result.error.message}`);
  loading().ended(startedAt);
}

serveRole({
  load(load) {
    const failed = Promise.withResolvers<never>();
    const loading: Loading = beginLoad(load, () => {
      call(load.tool, () => loading).catch(failed.reject);
    });
    return Promise.race([loading.result, failed.promise]);
  },
});
