/** Compiled by tsc and never run: each `@ts-expect-error` fails the check if its line compiles. */
import { z } from 'zod';
import {
  type CallResult,
  type Client,
  createClient,
  defineAgent,
  defineTool,
  type InvalidInput,
  type JsonValue,
  result,
  type Tool,
  text,
} from '../../src/sdk/index.ts';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Equal<A, B>): void {
  // The types are the test.
}

const traits = { name: 'weather', description: 'The weather.' };
const schema = z.object({ city: z.string(), days: z.number().default(1), at: z.string().transform(Number) });
const outputSchema = z.object({ celsius: z.number(), unit: z.string().default('c') });

// Parameters are what the schema puts out; callers write what it takes, and get what the output schema puts out.
const weather = defineTool({
  ...traits,
  schema,
  outputSchema,
  execute: async (params, context) => {
    same<typeof params, { city: string; days: number; at: number }>(true);
    same<typeof context.signal, AbortSignal>(true);
    return { celsius: params.days };
  },
});
same<
  typeof weather,
  Tool<{ city: string; days?: number | undefined; at: string }, { celsius: number; unit: string }>
>(true);

// Full results, deferrals and interrupts are answers as well.
defineTool({ ...traits, schema, outputSchema, execute: () => result({ structured: { celsius: 1 } }) });
defineTool({ ...traits, schema, outputSchema, execute: () => result({ content: 'x', isError: true }) });
defineTool({ ...traits, schema, outputSchema, execute: (_, { defer }) => defer({ timeoutMs: 1 }) });
defineTool({ ...traits, schema, execute: (_, { interrupt }) => interrupt({ reason: 'confirm' }) });

// What a handler without an output schema may return.
defineTool({ ...traits, schema, execute: () => 'text' });
defineTool({ ...traits, schema, execute: () => ({ any: ['json', 1, null, { deep: true }] }) });
defineTool({ ...traits, schema, execute: () => [text('a'), text('b')] });
defineTool({ ...traits, schema, execute: () => ({ content: [{ type: 'text', text: 'a' }], isError: true }) });
defineTool({ ...traits, schema, execute: async () => undefined });
defineTool({
  ...traits,
  schema,
  execute: () => {
    // Nothing at all is an answer.
  },
});

// @ts-expect-error a member is missing
defineTool({ ...traits, schema, outputSchema, execute: () => ({ unit: 'c' }) });
// @ts-expect-error a member has another type
defineTool({ ...traits, schema, outputSchema, execute: () => ({ celsius: 'warm' }) });
// @ts-expect-error nothing is no answer where an output schema wants an object
defineTool({ ...traits, schema, outputSchema, execute: async () => undefined });
// @ts-expect-error the structured value of a full result is checked as well
defineTool({ ...traits, schema, outputSchema, execute: () => result({ structured: { celsius: 'warm' } }) });
// @ts-expect-error the schema has no such parameter
defineTool({ ...traits, schema, execute: ({ town }) => town });
// @ts-expect-error a parameter has the type that the schema puts out
defineTool({ ...traits, schema, execute: ({ at }) => at.toUpperCase() });
// @ts-expect-error a BigInt is no JSON
defineTool({ ...traits, schema, execute: () => ({ big: 1n }) });
// @ts-expect-error a function is no JSON
defineTool({ ...traits, schema, execute: () => ({ later: () => 1 }) });
// @ts-expect-error a tool has a handler
defineTool({ ...traits, schema });
// @ts-expect-error an option has its own values
defineTool({ ...traits, schema, executionMode: 'serial', execute: () => 'x' });

// A raw JSON Schema says nothing to the compiler: a JSON object, or what the author says.
const raw = defineTool({
  ...traits,
  jsonSchema: { type: 'object' },
  execute: (params) => {
    // @ts-expect-error nobody has said what `city` is
    return params['city'].length;
  },
});
const said = defineTool<{ city: string }>({
  ...traits,
  jsonSchema: { type: 'object' },
  execute: ({ city }) => city,
});
same<typeof said, Tool<{ city: string }, unknown>>(true);

defineTool({
  ...traits,
  schema,
  outputSchema,
  execute: () => ({ celsius: 1 }),
  describeActivity: ({ city }) => `Looking at ${city}`,
  // @ts-expect-error a label is text
  describeCompletedActivity: ({ days }) => days,
});

defineTool({
  ...traits,
  schema,
  execute: () => 'x',
  onInvalidInput: (input) => (input.status === 'malformed' ? input.accept() : input.runWith(input.value)),
});

export function corrects(input: InvalidInput): unknown {
  if (input.status === 'malformed') return input.error;
  // @ts-expect-error only malformed input has an error
  return input.error;
}

export async function calls(client: Client): Promise<void> {
  const answer = await client.call(weather, { city: 'Tokyo', at: '1' });
  same<typeof answer, CallResult<{ celsius: number; unit: string }>>(true);
  if (answer.ok) same<typeof answer.value, { celsius: number; unit: string }>(true);
  else same<typeof answer.error.code, string>(true);
  // @ts-expect-error a failure has no value
  if (!answer.ok) answer.value;
  // @ts-expect-error an argument is missing
  await client.call(weather, { city: 'Tokyo' });
  // @ts-expect-error callers write what the schema takes
  await client.call(weather, { city: 'Tokyo', at: 1 });
  // @ts-expect-error a misspelt argument
  await client.call(weather, { city: 'Tokyo', at: '1', dais: 1 });
  await client.call(weather, { rawArguments: '{}' });
  await client.call(raw, { anything: [1] });
  const named = await client.call('weather', { city: 'Tokyo' });
  same<typeof named, CallResult<unknown>>(true);
  for await (const event of client.stream(weather, { city: 'Tokyo', at: '1' })) {
    if (event.kind === 'finished' && event.result.ok) {
      same<typeof event.result.value, { celsius: number; unit: string }>(true);
    }
    // @ts-expect-error only progress tells what is done
    event.completed;
  }
}

/** Agents: what handlers see, and what a turn ends with. */
export async function agents() {
  const counter = defineAgent({
    id: 'counter',
    model: 'x/y',
    task: z.object({ count: z.number().default(0) }),
    on: {
      'tool.finished': ({ trigger, proposal, state }) => {
        same<typeof trigger.attempts, number>(true);
        same<typeof state, JsonValue | undefined>(true);
        // @ts-expect-error a call that ended has no arguments
        trigger.arguments;
        return { ...proposal, state: { attempts: trigger.attempts } };
      },
      // A handler need not return anything.
      'turn.finished': ({ trigger }) => console.log(trigger.turnId),
      // @ts-expect-error there is no such member of a decision
      'client.action': () => ({ action: [] }),
    },
  });
  defineAgent({
    id: 'x',
    model: 'x/y',
    // @ts-expect-error there is no such trigger
    on: { 'tool.finish': () => undefined },
  });
  defineAgent({ id: 'x', model: 'x/y', tools: async ({ iteration }) => (iteration > 1 ? [] : [client]) });
  const client = defineTool({ name: 'a', description: 'a', execute: () => 'a' });

  const { sessions } = createClient();
  const typed = await sessions.run(counter, 'Count.');
  if (typed.ok) same<typeof typed.output, { count: number }>(true);
  const own = await sessions.run('counter', 'Count.', { task: z.array(z.string()) });
  if (own.ok) same<typeof own.output, string[]>(true);
  const free = await sessions.run('counter', 'Count.', { onEvent: ({ kind }) => console.log(kind) });
  if (free.ok) same<typeof free.output, unknown>(true);
  for await (const event of sessions.runTurn('s', 'Hi')) {
    if (event.kind === 'tool.call.requested') same<typeof event.data.arguments, string>(true);
    if (event.kind === 'text') same<typeof event.text, string>(true);
    // @ts-expect-error a delta has no place in the log
    if (event.kind === 'text') event.sequence;
  }
}
