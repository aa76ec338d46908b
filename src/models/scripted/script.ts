import { z } from 'zod';
import { MAX_SCRIPTED_ANSWERS, MAX_SCRIPTED_DELAY_MS } from '../../core/limits.ts';

/** Field by field what is wanted, in the words that follow `expected`. */
const EXPECTED = {
  text: 'a text',
  raw: 'the arguments as a text, byte for byte, or an object, which is written as JSON',
  name: 'the name of a tool',
  tokens: 'a number of tokens: an integer from 0',
  delay: `milliseconds: an integer from 0 to ${MAX_SCRIPTED_DELAY_MS}`,
  deltas: 'a list of texts, in the order in which they are streamed',
  count: 'a number of deltas: an integer from 0',
  finish: '"stop", "tool_calls", "length", "content_filter", "other" or "unspecified"',
  flag: 'true or false',
  hang: 'true: a model that answers needs no "hang"',
  texts: 'a list of texts',
  names: 'a list of the names of tools',
  calls: 'a list of calls, each with "name" and "arguments"',
  after: '"fail", "repeat" or "again"',
  position: '"order" or "conversation"',
  answers: `a list of 1 to ${MAX_SCRIPTED_ANSWERS} answers`,
  answer: 'a text, an answer, or a list of them, one for each attempt',
  table: 'a table',
};

const text = z.string(EXPECTED.text);
const tokens = z.int(EXPECTED.tokens).min(0, EXPECTED.tokens).optional();
const delay = z.int(EXPECTED.delay).min(0, EXPECTED.delay).max(MAX_SCRIPTED_DELAY_MS, EXPECTED.delay);
const table = { error: () => EXPECTED.table };
const answerTable = { error: () => EXPECTED.answer };

const CallSchema = z.strictObject(
  {
    /** Absent: one of our own. Empty: the provider omits it. */
    id: text.optional(),
    name: z.string(EXPECTED.name),
    arguments: z.union([z.string(), z.record(z.string(), z.json())], EXPECTED.raw),
  },
  table,
);

const ExpectSchema = z.strictObject(
  {
    /** The model's name, without its provider. */
    model: text.optional(),
    /** Each occurs in the system message. */
    system: z.array(text, EXPECTED.texts).optional(),
    /** Each occurs in the last message: its text, or what its tool results say. */
    last: z.array(text, EXPECTED.texts).optional(),
    /** One for each message: its role, a colon, and a text that occurs in it. */
    messages: z
      .array(
        z
          .string('a list such as "user: weather in Oslo"')
          .regex(/^(?:system|user|assistant|tool):/, 'a role and a colon, as in "user: weather in Oslo"'),
        EXPECTED.texts,
      )
      .optional(),
    /** The names of all offered tools, in any order. */
    tools: z.array(z.string(EXPECTED.name), EXPECTED.names).optional(),
  },
  table,
);

const FailSchema = z.strictObject(
  {
    code: text.optional(),
    message: text.optional(),
    retryable: z.boolean(EXPECTED.flag).optional(),
    retry_after_ms: delay.optional(),
  },
  table,
);

const AnswerObjectSchema = z.strictObject(
  {
    text: text.optional(),
    reasoning: text.optional(),
    calls: z.array(CallSchema, EXPECTED.calls).optional(),
    /** How the text is streamed; absent: word by word. */
    deltas: z.array(text, EXPECTED.deltas).optional(),
    finish: z
      .enum(['stop', 'tool_calls', 'length', 'content_filter', 'other', 'unspecified'], EXPECTED.finish)
      .optional(),
    usage: z
      .strictObject({ input: tokens, output: tokens, cached_input: tokens, reasoning: tokens }, table)
      .optional(),
    response_model: text.optional(),
    response_id: text.optional(),
    /** What has to be true of the request; else the call fails and says what was not. */
    expect: ExpectSchema.optional(),
    /** Waits before anything is answered. */
    delay_ms: delay.optional(),
    /** Ends with this failure; after `break_after` deltas, where that is given. */
    fail: FailSchema.optional(),
    /** Streams so many deltas of the answer, then fails or hangs. */
    break_after: z.int(EXPECTED.count).min(0, EXPECTED.count).optional(),
    /** Answers nothing more until the call is aborted. */
    hang: z.literal(true, EXPECTED.hang).optional(),
  },
  answerTable,
);

/** A text is short for an answer that says it, and an answer for a list of one. Unions would garble the errors. */
const AnswerSchema = z.preprocess(
  (value) => (typeof value === 'string' ? { text: value } : value),
  AnswerObjectSchema,
);
const AttemptsSchema = z.preprocess(
  (value) => (Array.isArray(value) ? value : [value]),
  z.array(AnswerSchema).min(1, EXPECTED.answer),
);

const ScriptSchema = z.strictObject(
  {
    /** A list in place of an answer holds one for each attempt; the last one stands for all that follow. */
    answers: z
      .array(AttemptsSchema, EXPECTED.answers)
      .min(1, EXPECTED.answers)
      .max(MAX_SCRIPTED_ANSWERS, EXPECTED.answers),
    /**
     * Which answer a call gets. `order`: the one after the last call's, an attempt at a time where no list says
     * otherwise. `conversation`: the one after as many as the request has messages of the assistant, so that
     * sessions do not disturb each other and a restart changes nothing.
     */
    position: z.enum(['order', 'conversation'], EXPECTED.position).optional(),
    /** What comes after the last answer: a failure, the last answer once more, or the first one again. */
    after: z.enum(['fail', 'repeat', 'again'], EXPECTED.after).optional(),
  },
  table,
);

/** What a scripted model says, in the form in which files, transcripts and tests write it. */
export interface Script extends Partial<Pick<ReadScript, 'position' | 'after'>> {
  readonly answers: readonly (string | ScriptedAnswer | readonly (string | ScriptedAnswer)[])[];
}
/** One answer. A text alone stands for one that says it. */
export type ScriptedAnswer = z.output<typeof AnswerObjectSchema>;
export type Expectations = z.output<typeof ExpectSchema>;

/** A script with its answers in one form: for each position, one for each attempt. */
export interface ReadScript {
  readonly answers: readonly (readonly ScriptedAnswer[])[];
  readonly position: 'order' | 'conversation';
  readonly after: 'fail' | 'repeat' | 'again';
}

export type ScriptReading =
  | { readonly ok: true; readonly script: ReadScript }
  /** One line for each thing that is wrong: where it stands, and what is expected. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads a value that came from a file or from a test. */
export function readScript(value: unknown): ScriptReading {
  const parsed = ScriptSchema.safeParse(value);
  if (!parsed.success) {
    return { ok: false, problems: parsed.error.issues.flatMap((issue) => linesOf(issue, value)) };
  }
  const { answers, position = 'order', after = 'fail' } = parsed.data;
  const problems = answers.flatMap((list, place) => list.flatMap((answer) => contradictions(answer, place)));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, script: { answers, position, after } };
}

/** Fields that do not go together: each alone is well formed, so the schema cannot say it. */
function contradictions(answer: ScriptedAnswer, index: number): string[] {
  const { deltas, text: whole, fail, hang, break_after: breaks } = answer;
  const problems: string[] = [];
  const say = (field: string, what: string): number => problems.push(`answers.${index}.${field}: ${what}`);
  if (deltas !== undefined && whole !== undefined && deltas.join('') !== whole)
    say('deltas', 'expected texts that together are "text"; leave "text" out to have it made of them');
  if (fail !== undefined && hang !== undefined) say('hang', 'expected either "fail" or "hang"');
  if (breaks !== undefined && fail === undefined && hang === undefined)
    say('break_after', 'expected "fail" or "hang" beside it, which says how the stream ends');
  return problems;
}

function linesOf(issue: z.core.$ZodIssue, value: unknown): string[] {
  const path = authored(issue.path, value);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${[...path, key].join('.')}: no such field`);
  return [`${path.join('.') || 'the script'}: expected ${issue.message}`];
}

/** The path in the author's own form, where an answer need not be in a list. */
function authored(path: readonly PropertyKey[], value: unknown): readonly PropertyKey[] {
  const [field, place, attempt, ...rest] = path;
  const answers =
    typeof value === 'object' && value !== null && 'answers' in value ? value.answers : undefined;
  if (field !== 'answers' || attempt === undefined || !Array.isArray(answers)) return path;
  return Array.isArray(answers[Number(place)]) ? path : [field, place ?? 0, ...rest];
}
