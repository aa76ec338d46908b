/** Agents for the tests of the command line, as `spindle worker` serves them. */
import { setTimeout } from 'node:timers/promises';
import { defineAgent, defineTool, ToolError } from 'spindle/worker';
import { z } from 'zod';

const number = z.object({ number: z.int() });

const find = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number.',
  schema: number,
  outputSchema: z.object({ total: z.int() }),
  annotations: { readOnly: true },
  describeActivity: (args) => `Looking for order ${args.number}`,
  execute(args) {
    if (args.number > 100) throw new ToolError(`There is no order ${args.number}.`, { code: 'not_found' });
    return { total: args.number * 10 };
  },
});

const pay = defineTool({
  name: 'pay_order',
  description: 'Pays an order by its number.',
  schema: number,
  execute: (args) => `paid ${args.number}`,
});

/** Also for whoever calls it directly. */
export const pack = defineTool({
  name: 'pack_order',
  description: 'Packs an order by its number, at a place.',
  schema: number,
  execute: (args, { resumed, interrupt }) =>
    resumed === undefined
      ? interrupt({ reason: 'which_place', payload: { places: ['Oslo', 'Lima\u202e'] } })
      : `packed ${args.number} at ${JSON.stringify(resumed.payload)}`,
});

const ship = defineTool({
  name: 'ship_order',
  description: 'Ships an order by its number; somebody answers later.',
  schema: number,
  execute: (_, { defer }) => defer(),
});

const wait = defineTool({
  name: 'wait_minutes',
  description: 'Waits a number of minutes.',
  schema: z.object({ minutes: z.int() }),
  describeActivity: ({ minutes }) => `Waiting ${minutes} min`,
  async execute({ minutes }, { signal }) {
    await setTimeout(minutes * 60_000, undefined, { signal });
    return 'waited';
  },
});

export const clerk = defineAgent({
  id: 'clerk',
  description: 'Looks after\u001b[31m orders.',
  model: 'local/demo',
  tools: [find, pay, pack, ship, wait],
  approval: { names: ['pay_order'] },
});

/** Its script writes what would steer a terminal. */
export const steering = defineAgent({ id: 'steering', model: 'steering/any', tools: [find] });

export const failing = defineAgent({ id: 'failing', model: 'failing/any' });
