/** The engine: `engine.ts JOURNAL`. */
import { createEngine } from '../../src/main.ts';
import { serveRole } from '../role.ts';

const [journal = 'memory:'] = process.argv.slice(2);
const engine = await createEngine({
  journal,
  listen: '127.0.0.1:0',
  http: false,
  observer: {
    report(level, event, facts) {
      if (level !== 'info') console.error(level, event, facts);
    },
  },
});
serveRole({ address: engine.grpcAddress });
