/** Agents, as agent-worker.ts serves them and chat.ts talks to them. */
import {
  changedConfig,
  defineAgent,
  defineTool,
  raiseInterrupt,
  type ToolSource,
  userMessage,
} from 'spindle/worker';
import { z } from 'zod';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order by its number.',
  schema: z.object({ number: z.int() }),
  annotations: { readOnly: true },
  execute: ({ number }) => ({ number, total: 20 * number, paid: true }),
});

const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back.',
  schema: z.object({ number: z.int() }),
  execute: ({ number }) => `Order ${number} is paid back.`,
});

/** What the state of a session holds. */
const memory = z.object({ verified: z.boolean().default(false), refunds: z.int().default(0) });

export const clerk = defineAgent({
  id: 'clerk',
  description: 'Answers questions about orders, and pays them back.',
  model: 'anthropic/claude-haiku-4-5',
  system: 'You answer questions about orders. Look an order up before you speak of it.',
  // Only this agent has these; what a worker offers to all is named in useTools.
  tools: [findOrder, refund],
  useTools: ['weather'],
  // Waits for a person before it runs.
  approval: { names: ['refund'] },
  on: {
    'tool.finished'({ trigger, proposal, state }) {
      // Returning nothing takes the proposal.
      if (trigger.name !== 'refund') return;
      const { refunds, ...rest } = memory.parse(state ?? {});
      return { ...proposal, state: { ...rest, refunds: refunds + 1 } };
    },
    'client.messages'({ proposal, config, messages }) {
      if (messages.length < 40) return;
      return { ...proposal, config: changedConfig(config, { model: 'anthropic/claude-sonnet-4-5' }) };
    },
    'client.action'({ trigger }) {
      if (trigger.name !== 'escalate') return;
      return {
        messages: [userMessage('I want to speak to a person.')],
        actions: [raiseInterrupt({ reason: 'escalated' })],
      };
    },
  },
});

/** Given anew before each model call of a session. */
const toolsOf: ToolSource = ({ state, iteration }) =>
  memory.parse(state ?? {}).verified && iteration < 4 ? [findOrder, refund] : [findOrder];

export const teller = defineAgent({
  id: 'teller',
  model: 'anthropic/claude-haiku-4-5',
  tools: toolsOf,
  subagents: [clerk],
  // The turn ends with this value, and sessions.run(teller, …) has its type.
  task: z.object({ order: z.int(), refunded: z.boolean() }),
});

export const parrot = defineAgent({
  id: 'parrot',
  model: 'local/parrot',
  // This process makes the model calls. Parts are seen as they come, and are the answer together.
  async *onModelExecute({ request, signal }) {
    for (const word of request.model.split('/')) {
      signal.throwIfAborted();
      yield `${word} `;
    }
    yield { usage: { inputTokens: 1, outputTokens: 2 } };
  },
});
