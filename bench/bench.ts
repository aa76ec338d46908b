/**
 * How fast the engine is, against a floor (docs/performance.md):
 *
 *     npm run bench -- [--quick] [--json] [--directory DIR]
 *
 * `--directory` is where SQLite keeps its file; the default is the system's place for temporary files, which may
 * be memory. Nothing else should run on the machine; what runs all the same weighs on the floor as well.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { measureMemory } from './memory.ts';
import { printed, type Report } from './report.ts';
import { measureStartup } from './startup.ts';
import { measureThroughput } from './throughput.ts';
import { measureSessions, measureTurns } from './turns.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    directory: { type: 'string' },
  },
});

const FULL = {
  measuring: { rounds: 5, roundMilliseconds: 1_000 },
  warmUpCalls: 30_000,
  warmUpTurns: 5_000,
  starts: 5,
  calls: 200_000,
  conversations: 100_000,
};
const QUICK = {
  measuring: { rounds: 3, roundMilliseconds: 300 },
  warmUpCalls: 5_000,
  warmUpTurns: 1_000,
  starts: 3,
  calls: 40_000,
  conversations: 5_000,
};
const { measuring, warmUpCalls, warmUpTurns, starts, calls, conversations } = values.quick ? QUICK : FULL;
const { directory } = values;

const startup = await measureStartup(starts);
const throughput = await measureThroughput({ inFlight: [1, 16, 256], ...measuring, warmUpCalls, directory });
const memory = await measureMemory(calls, directory);
const turns = await measureTurns({ inFlight: [1, 64], ...measuring, warmUpTurns, directory });
const sessions = await measureSessions(conversations, directory);
const report: Report = {
  node: process.version,
  cores: availableParallelism(),
  throughput,
  startup,
  memory,
  turns,
  sessions,
};
console.log(values.json ? JSON.stringify(report, null, 2) : printed(report));
