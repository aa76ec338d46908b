import { z } from 'zod';
import { defineTool, image, ToolError, text } from '../../../src/sdk/worker/index.ts';

/** Tools that answer in each of the ways that an adapter has to pass on. */
export const TOOLS = [
  defineTool({
    name: 'add',
    description: 'Adds two numbers.',
    schema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    execute: ({ a, b }) => ({ sum: a + b }),
  }),
  defineTool({ name: 'greet', description: 'Greets.', execute: () => 'Hello' }),
  defineTool({
    name: 'picture',
    description: 'Draws.',
    execute: () => [text('a picture'), image(new Uint8Array([1, 2, 3]), 'image/png')],
  }),
  defineTool({
    name: 'failing',
    description: 'Fails.',
    execute: () => {
      throw new ToolError('out of tea', { code: 'no_tea' });
    },
  }),
  defineTool({ name: 'name.with.dots', description: 'Has a name of its own.', execute: () => 'dots' }),
];
