import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { z } from 'zod';

/**
 * A conversation as a file describes it, without a provider's words: what the model answers, request by request, and
 * what the tools answer. Each server tells it in the format of its provider.
 */
const CallSchema = z.strictObject({
  id: z.string().default(''),
  name: z.string(),
  /** The pieces in which the arguments come. */
  arguments: z.array(z.string()).default([]),
  /** What the tool answers, for the driver. */
  result: z
    .strictObject({
      text: z.string().optional(),
      image: z.string().optional(),
      error: z.string().optional(),
      structured: z.string().optional(),
    })
    .default({ text: 'ok' }),
});

const AnswerSchema = z.strictObject({
  reasoning: z.strictObject({ text: z.array(z.string()), signature: z.string() }).optional(),
  /** Text before the calls, in pieces. */
  text: z.array(z.string()).default([]),
  calls: z.array(CallSchema).default([]),
  finish: z.enum(['stop', 'calls', 'length', 'filter']).default('stop'),
  usage: z
    .strictObject({
      input: z.int(),
      output: z.int(),
      cached: z.int().default(0),
      reasoning: z.int().default(0),
    })
    .default({ input: 11, output: 7, cached: 0, reasoning: 0 }),
  id: z.string().default('resp_1'),
  /** In place of an answer: a status, with its headers and body. */
  status: z.int().optional(),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.string().optional(),
  /** The connection ends after so many events. */
  cut_after: z.int().optional(),
  /** After so many events an error is streamed in the provider's form, and the connection ends. */
  error_after: z.int().optional(),
  /** After so many events nothing comes any more, until the client goes. */
  hang_after: z.int().optional(),
  /** Where a provider numbers its calls, all have this number. */
  same_index: z.boolean().default(false),
});

const ConversationSchema = z.strictObject({
  about: z.string(),
  /** The tools on offer beside `look`, which every conversation has: names, without arguments. */
  tools: z.array(z.string()).default([]),
  /** Providers that this is not told to, each with the reason. */
  not_for: z.record(z.string(), z.string()).default({}),
  answers: z.array(AnswerSchema),
});

export type Conversation = z.output<typeof ConversationSchema>;
export type Answer = z.output<typeof AnswerSchema>;
export type AnswerCall = z.output<typeof CallSchema>;

const FOLDER = join(import.meta.dirname, '../conversations');

export function readConversation(name: string): Conversation {
  return ConversationSchema.parse(parse(readFileSync(join(FOLDER, `${name}.toml`), 'utf8')));
}

/** An answer that a test spells out in place of a file. */
export function answer(fields: z.input<typeof AnswerSchema>): Answer {
  return AnswerSchema.parse(fields);
}
