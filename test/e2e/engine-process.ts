/** An engine in a process of its own, so that a test can kill it. Started by `startEngineProcess`, not imported. */
import { createEngine } from '../../src/main.ts';

const [, , journal = '', listen = ''] = process.argv;
try {
  const engine = await createEngine({ journal, listen, http: false });
  process.send?.({ address: engine.grpcAddress });
} catch (error) {
  process.send?.({ error: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
  process.disconnect();
}
