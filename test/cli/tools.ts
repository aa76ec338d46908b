/** What the tests of the command line serve: exports of every kind that `spindle worker` takes. */
import { setTimeout } from 'node:timers/promises';
import { defineTool, defineToolchain, image, ToolError } from 'spindle/worker';
import { z } from 'zod';

export const greet = defineTool({
  name: 'greet',
  description: 'Greets somebody by name.',
  schema: z.object({ name: z.string(), loud: z.boolean().optional() }),
  execute: ({ name }) => `Hello, ${name}!`,
});

export const wait = defineTool({
  name: 'wait',
  description: 'Waits.',
  schema: z.object({ ms: z.int() }),
  async execute({ ms }, { signal, progress }) {
    progress({ completed: 0, total: ms, activity: 'Waiting' });
    await setTimeout(ms, undefined, { signal });
    return 'waited';
  },
});

const sum = defineTool({
  name: 'sum',
  description: 'Adds numbers.',
  schema: z.object({ numbers: z.array(z.number()) }),
  outputSchema: z.object({ sum: z.number() }),
  execute: ({ numbers }) => ({ sum: numbers.reduce((total, number) => total + number, 0) }),
});

export const arithmetic = defineToolchain({ id: 'arithmetic', description: 'Sums.', tools: [sum] });

const ask = defineTool({
  name: 'ask',
  description: 'Asks somebody, who answers later.',
  execute: (_, { defer }) => defer(),
});
const steer = defineTool({
  name: 'steer',
  description: 'Would steer a terminal,\u001b[31m if it could.',
  jsonSchema: { type: 'object', properties: { 'a\u001b[2Jb\nc': {} } },
  execute() {
    throw new ToolError('red\u001b[31m', { code: 'bell\u0007' });
  },
});
const draw = defineTool({
  name: 'draw',
  description: 'Draws three bytes.',
  execute: () => image(Buffer.from([1, 2, 3]), 'image/png'),
});

export const more = [ask, draw, steer];

// What is in a toolchain as well is served once; what is no tool is left alone.
export { sum };
export const version = '1.0.0';
