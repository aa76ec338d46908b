/** Agents of docs/agents.md: spindle worker examples/agent/orders.ts. */
import { defineAgent, defineTool, ToolError } from 'spindle/worker';
import { z } from 'zod';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number: what it costs, and its state.',
  schema: z.object({ number: z.int() }),
  outputSchema: z.object({ total: z.int(), state: z.string() }),
  annotations: { readOnly: true },
  describeActivity: ({ number }) => `Looking for order ${number}`,
  execute({ number }) {
    if (number > 100) throw new ToolError(`There is no order ${number}.`, { code: 'not_found' });
    return { total: number * 10, state: number % 2 === 0 ? 'open' : 'paid' };
  },
});

const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Pays an order back, by its number.',
  schema: z.object({ number: z.int() }),
  describeActivity: ({ number }) => `Paying order ${number} back`,
  execute: ({ number }) => `Order ${number} is paid back.`,
});

/** What the state of a session holds. */
const memory = z.object({ refunds: z.int().default(0) });

export const clerk = defineAgent({
  id: 'clerk',
  description: 'Answers questions about orders, and pays them back.',
  model: 'local/demo',
  system: 'You look after orders. Look an order up before you speak of it.',
  tools: [findOrder, refundOrder],
  // A person says yes before it runs.
  approval: { names: ['refund_order'] },
  maxIterations: 6,
  on: {
    'tool.finished'({ trigger, proposal, state }) {
      // Returning nothing takes the proposal.
      if (trigger.name !== 'refund_order' || trigger.outcome.case !== 'result') return;
      return { ...proposal, state: { refunds: memory.parse(state ?? {}).refunds + 1 } };
    },
  },
});

const packOrder = defineTool({
  name: 'pack_order',
  description: 'Packs an order, by its number.',
  schema: z.object({ number: z.int() }),
  execute: ({ number }, { resumed, interrupt }) =>
    resumed === undefined
      ? interrupt({ reason: 'Which box?', payload: { boxes: ['small', 'large'] } })
      : `Order ${number} is in a box: ${JSON.stringify(resumed.payload)}.`,
});

const shipOrder = defineTool({
  name: 'ship_order',
  description: 'Ships an order, by its number; the carrier answers later.',
  schema: z.object({ number: z.int() }),
  execute: (_, { defer }) => defer({ timeoutMs: 24 * 60 * 60 * 1_000 }),
});

/** Its tools stay out of the requests until the model has searched for them. */
export const packer = defineAgent({
  id: 'packer',
  description: 'Packs orders, and ships them.',
  model: 'local/demo',
  tools: [packOrder, shipOrder],
  deferTools: { maxMatches: 3 },
});

/** Has other agents for tools. */
export const desk = defineAgent({
  id: 'desk',
  model: 'local/demo',
  subagents: [clerk],
});

/** Its turns end with a value. */
export const auditor = defineAgent({
  id: 'auditor',
  model: 'local/demo',
  tools: [findOrder],
  task: z.object({ total: z.int() }),
});
