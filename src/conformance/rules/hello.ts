import { DEFAULT_MAX_IN_FLIGHT } from '../../core/limits.ts';
import { expectEqual, expectThat, type Rule } from '../rule.ts';
import { MIN_IN_FLIGHT, STANDARD_TOOLS } from '../tools.ts';

export const HELLO_RULES: readonly Rule[] = [
  {
    section: '5.1',
    title: 'the first frame is a hello of a new process',
    async check(bench) {
      const stream = await bench.connection();
      const hello = await stream.hello();
      expectEqual('the first frame to be', stream.received[0]?.kind.case, 'hello');
      expectThat(hello.instanceId.length >= 16, 'an instance_id made at random', `"${hello.instanceId}"`);
      expectEqual('resume_token', hello.resumeToken, '');
      expectEqual('stream_number', hello.streamNumber, 1);
      expectEqual('held', hello.held, []);
      const limit = hello.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT;
      expectThat(limit >= MIN_IN_FLIGHT, `max_in_flight of at least ${MIN_IN_FLIGHT}`, String(limit));
    },
  },
  {
    section: '5.1',
    title: 'the hello offers the standard tools with their schemas',
    async check(bench) {
      const hello = await (await bench.connection()).hello();
      for (const [name, tool] of Object.entries(STANDARD_TOOLS)) {
        const offered = hello.tools.find((offer) => offer.tool?.name === name)?.tool;
        expectThat(offered !== undefined, `the tool ${name}`, 'no such offer');
        expectEqual(
          `the input schema of ${name} to be`,
          sorted(offered?.inputSchemaJson),
          sorted(tool.inputSchema),
        );
        expectEqual(
          `the output schema of ${name} to be`,
          sorted(offered?.outputSchemaJson === '' ? undefined : offered?.outputSchemaJson),
          sorted(tool.outputSchema),
        );
      }
      const flaky = hello.tools.find((offer) => offer.tool?.name === 'flaky')?.tool;
      expectEqual('max_attempts of flaky', flaky?.retry?.maxAttempts, 5);
      const add = hello.tools.find((offer) => offer.tool?.name === 'add')?.tool;
      expectEqual('the annotation read_only of add', add?.annotations?.readOnly, true);
    },
  },
  {
    section: '5.1',
    title: 'the welcome is answered by a heartbeat at once',
    async check(bench) {
      // The next one is far away: what comes now comes for the welcome.
      const { stream } = await bench.serving({ heartbeatMs: 600_000 });
      const first = stream.received.find(({ kind }) => kind.case !== 'hello');
      expectEqual('the first frame after the welcome to be', first?.kind.case, 'heartbeat');
      const beat = first?.kind.case === 'heartbeat' ? first.kind.value : undefined;
      expectEqual('received_through before any dispatch', beat?.receivedThrough, 0);
      expectEqual('held', beat?.held, []);
    },
  },
];

/** A schema, with keys in order, so that order and spacing do not matter. */
function sorted(schema: object | string | undefined): unknown {
  if (schema === undefined) return undefined;
  const value: unknown = typeof schema === 'string' ? JSON.parse(schema) : schema;
  return sortKeys(value);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sortKeys(part)]),
  );
}
