/** The engine: `engine.ts JOURNAL [VARIABLE=VALUE …]`, with the standard variables of OpenTelemetry. */
import { createEngine } from '../../src/main.ts';
import { BENCH_AGENTS, benchModel } from '../model.ts';
import { serveRole } from '../role.ts';

const [journal = 'memory:', ...assignments] = process.argv.slice(2);
const variables = Object.fromEntries(
  assignments.map((assignment) => {
    const equals = assignment.indexOf('=');
    return [assignment.slice(0, equals), assignment.slice(equals + 1)] as const;
  }),
);
const engine = await createEngine({
  journal,
  listen: '127.0.0.1:0',
  http: false,
  models: { bench: benchModel },
  agents: BENCH_AGENTS,
  ...(assignments.length === 0 ? {} : { telemetry: { variables } }),
  observer: {
    report(level, event, facts) {
      if (level !== 'info') console.error(level, event, facts);
    },
  },
});
serveRole({ address: engine.grpcAddress });
