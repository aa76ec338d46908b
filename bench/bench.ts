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

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    directory: { type: 'string' },
  },
});

const FULL = { rounds: 5, roundMilliseconds: 1_000, warmUpCalls: 30_000, starts: 5, calls: 200_000 };
const QUICK = { rounds: 3, roundMilliseconds: 300, warmUpCalls: 5_000, starts: 3, calls: 40_000 };
const { starts, calls, ...measuring } = values.quick ? QUICK : FULL;
const { directory } = values;

const startup = await measureStartup(starts);
const throughput = await measureThroughput({ inFlight: [1, 16, 256], ...measuring, directory });
const memory = await measureMemory(calls, directory);
const report: Report = { node: process.version, cores: availableParallelism(), throughput, startup, memory };
console.log(values.json ? JSON.stringify(report, null, 2) : printed(report));
