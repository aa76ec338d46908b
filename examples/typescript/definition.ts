/** Every option of a definition, and what a handler may answer. Nothing here runs by itself. */
import {
  audio,
  defineTool,
  defineToolchain,
  image,
  resource,
  resourceLink,
  result,
  text,
} from 'spindle/worker';
import { z } from 'zod';

export const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to a customer.',
  schema: z.object({ order: z.string(), cents: z.int().positive() }),
  outputSchema: z.object({ refundId: z.string() }),
  strict: true,
  defer: false,
  executionMode: 'sequential',
  annotations: { title: 'Refund', readOnly: false, destructive: true, idempotent: true, openWorld: true },
  retry: {
    queueTimeoutMs: 30_000,
    runTimeoutMs: 60_000,
    totalTimeoutMs: 300_000,
    heartbeatTimeoutMs: 10_000,
    maxAttempts: 3,
    initialBackoffMs: 500,
    maxBackoffMs: 10_000,
    backoffMultiplier: 2,
  },
  argumentRepair: 'bounded',
  invalidInput: 'worker',
  endsTurn: false,
  maxConcurrency: 4,
  describeActivity: ({ order }) => `Refunding order ${order}`,
  describeCompletedActivity: ({ cents }) => `Refunded ${cents / 100} EUR`,
  // Models like to write numbers as text. What goes to runWith is still parsed by the schema.
  onInvalidInput(input) {
    if (input.status === 'malformed') return input.accept();
    const corrected = z.object({ order: z.string(), cents: z.coerce.number() }).safeParse(input.value);
    return corrected.success ? input.runWith(corrected.data) : input.accept();
  },
  execute: ({ order }, { idempotencyKey }) => ({ refundId: `${order}-${idempotencyKey}` }),
});

// Without Zod: a raw JSON Schema, and a type for the handler if one is wanted.
export const echo = defineTool<{ words: string }>({
  name: 'echo',
  description: 'Says what it hears.',
  jsonSchema: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
  execute: ({ words }) => words,
});

export const gallery = defineTool({
  name: 'gallery',
  description: 'Shows every kind of block.',
  execute: () =>
    result({
      content: [
        text('# A picture', { mimeType: 'text/markdown' }),
        image(Uint8Array.of(137, 80, 78, 71), 'image/png'),
        audio(Uint8Array.of(82, 73, 70, 70), 'audio/wav'),
        resource('file:///notes.txt', 'What the resource holds.', 'text/plain'),
        resourceLink('https://example.com/', { name: 'An example', mimeType: 'text/html' }),
      ],
      activity: 'Hung three pictures',
      details: { hung: 3 },
      presentation: [{ eventType: 'gallery', payload: { columns: 3 } }],
    }),
});

export const shop = defineToolchain({
  id: 'shop',
  description: 'Orders, refunds and pictures.',
  tools: [refund, echo, gallery],
});
