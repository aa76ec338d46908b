import { openCredentials } from './targets/credentials.ts';
import { openCallFrames, openHttpBodies, openWorkerFrames } from './targets/engine.ts';
import { openSchemas } from './targets/schemas.ts';
import { openConfiguration } from './targets/settings.ts';

/** Everything that fuzzers throw themselves at, by the names of `npm run fuzz`. */
export const TARGETS = {
  schemas: openSchemas,
  'worker-frames': openWorkerFrames,
  'call-frames': openCallFrames,
  http: openHttpBodies,
  configuration: openConfiguration,
  credentials: openCredentials,
} as const;
