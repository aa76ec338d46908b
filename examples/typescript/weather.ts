/** The definition of a tool. A worker runs it, and a client that imports it calls it with its types. */
import { defineTool } from 'spindle/worker';
import { z } from 'zod';

export const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city, today and on the days to come.',
  schema: z.object({
    city: z.string().describe('The city, in English'),
    days: z.int().min(1).max(7).default(1),
  }),
  outputSchema: z.object({ celsius: z.array(z.number()) }),
  annotations: { readOnly: true },
  describeActivity: ({ city }) => `Looking at the sky over ${city}`,
  execute: ({ city, days }) => ({ celsius: Array.from({ length: days }, (_, day) => city.length + day) }),
});
