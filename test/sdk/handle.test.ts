import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ToolInputSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { type ToolExecute, ToolExecuteSchema } from '../../gen/spindle/v1/trigger_pb.ts';
import { DispatchSchema } from '../../gen/spindle/v1/worker_service_pb.ts';
import {
  CallStopped,
  defineTool,
  type FullResult,
  type InputAnswer,
  type InvalidInput,
  result,
  type Tool,
  ToolError,
  text,
} from '../../src/sdk/index.ts';
import type { ProgressFields } from '../../src/sdk/tool-context.ts';

const traits = { name: 'weather', description: 'The weather.' };
const VALID = create(ToolInputSchema, { status: { case: 'valid', value: {} } });
const INVALID = create(ToolInputSchema, {
  status: {
    case: 'invalid',
    value: { violations: [{ instancePath: '/city', keyword: 'type', message: 'must be a string' }] },
  },
});
const MALFORMED = create(ToolInputSchema, {
  status: { case: 'malformed', value: { error: 'unexpected end' } },
});

interface Run {
  readonly execute?: MessageInitShape<typeof ToolExecuteSchema>;
  readonly signal?: AbortSignal;
  readonly proposal?: string;
}

/** Runs a tool as a worker would, and gives its answer with what it reported on the way. */
async function run(tool: Tool, { execute, signal, proposal }: Run = {}) {
  const message: ToolExecute = create(ToolExecuteSchema, {
    callId: 'call-1',
    name: tool.name,
    arguments: '{}',
    attempt: 1,
    input: VALID,
    ...execute,
  });
  const reports: ProgressFields[] = [];
  const warnings: string[] = [];
  const dispatch = create(DispatchSchema, {
    leaseToken: 'l',
    sessionId: 'call:call-1',
    caller: { tenant: 't', subject: 's' },
    traceContext: { traceparent: '00-1' },
    ...(proposal === undefined
      ? {}
      : {
          proposed: {
            actions: [
              {
                kind: {
                  case: 'toolError',
                  value: { error: { code: 'invalid_arguments', message: proposal } },
                },
              },
            ],
          },
        }),
  });
  const outcome = await tool.handle?.(dispatch, message, {
    signal: signal ?? new AbortController().signal,
    now: () => 1_000,
    report: (fields) => reports.push(fields),
    warn: (warning) => warnings.push(warning),
  });
  return { outcome, reports, warnings };
}

describe('a handler', () => {
  it('1.1: gets what its Zod schema puts out, defaults and transforms included', async () => {
    const tool = defineTool({
      ...traits,
      schema: z.object({ city: z.string().default('Tokyo'), days: z.string().transform(Number) }),
      execute: (params) => params,
    });
    const { outcome } = await run(tool, { execute: { arguments: '{"days":"3"}' } });
    expect(outcome).toEqual({ case: 'valueJson', value: '{"city":"Tokyo","days":3}' });
  });

  it('1.1: the raw text has what parsing loses', async () => {
    const tool = defineTool({ ...traits, execute: (_, { rawArguments }) => rawArguments });
    const { outcome } = await run(tool, { execute: { arguments: '{"id":9007199254740993}' } });
    expect(outcome?.value).toBe(JSON.stringify('{"id":9007199254740993}'));
  });

  it('1.7: gets the repaired value, and hears of the repair', async () => {
    const tool = defineTool({ ...traits, execute: (params, { input }) => ({ params, input }) });
    const input = create(ToolInputSchema, {
      status: { case: 'valid', value: { repairedJson: '{"a":1}', repairs: ['commas'] } },
    });
    const { outcome } = await run(tool, { execute: { arguments: '{"a":1,}', input } });
    expect(JSON.parse(String(outcome?.value))).toEqual({
      params: { a: 1 },
      input: { status: 'valid', repairs: ['commas'] },
    });
  });

  it('1.1: what Zod refuses is answered with invalid_arguments, in few words and without values', async () => {
    const schema = z.object({
      list: z.array(z.number()),
      city: z.string().refine(async () => false, 'unknown'),
    });
    const tool = defineTool({ ...traits, schema, execute: () => 'never' });
    const args = { list: Array.from({ length: 300 }, () => 'a secret'), city: 'secret' };
    const { outcome } = await run(tool, { execute: { arguments: JSON.stringify(args) } });
    expect(outcome).toMatchObject({ case: 'error', value: { code: 'invalid_arguments', retryable: false } });
    const message = outcome?.case === 'error' ? outcome.value.message : '';
    expect(message).toContain('/list/0: Invalid input: expected number');
    expect(message).toContain('and 296 more');
    expect(message).not.toContain('secret');
    expect(message.length).toBeLessThan(1_000);
  });

  it('1.2: invalid and malformed input is answered with the proposal, and never reaches the handler', async () => {
    const tool = defineTool({ ...traits, execute: () => 'never' });
    const invalid = await run(tool, { execute: { input: INVALID }, proposal: 'city must be a string' });
    expect(invalid.outcome?.case).toBe('accept');
    const malformed = await run(tool, { execute: { arguments: '{', input: MALFORMED }, proposal: 'broken' });
    expect(malformed.outcome?.case).toBe('accept');
  });

  it('1.2: without a proposal to accept, the failure is spelt out', async () => {
    const tool = defineTool({ ...traits, execute: () => 'never' });
    const { outcome } = await run(tool, { execute: { arguments: '{', input: MALFORMED } });
    expect(outcome).toMatchObject({ case: 'error', value: { code: 'invalid_arguments' } });
  });

  it('1.2: an author may correct, answer, accept or refuse such input', async () => {
    const make = (onInvalidInput: (input: InvalidInput) => InputAnswer | FullResult | undefined) =>
      defineTool({
        ...traits,
        schema: z.object({ city: z.string() }),
        execute: ({ city }) => city,
        onInvalidInput,
      });
    const wrong = { execute: { arguments: '{"city":3}', input: INVALID }, proposal: 'no' };
    const corrected = await run(
      make((input) => input.runWith({ city: `city ${input.proposal?.message}` })),
      wrong,
    );
    expect(corrected.outcome).toEqual({ case: 'valueJson', value: '"city no"' });
    const answered = await run(
      make(() => result({ content: 'which city?' })),
      wrong,
    );
    expect(answered.outcome).toMatchObject({ case: 'result' });
    expect(
      (
        await run(
          make((input) => input.accept()),
          wrong,
        )
      ).outcome?.case,
    ).toBe('accept');
    expect(
      (
        await run(
          make(() => undefined),
          wrong,
        )
      ).outcome?.case,
    ).toBe('accept');
    const refuse = (): never => {
      throw new ToolError('no such city', { code: 'unknown_city' });
    };
    expect((await run(make(refuse), wrong)).outcome).toMatchObject({ value: { code: 'unknown_city' } });
    const still = await run(
      make((input) => input.runWith({ city: 3 })),
      wrong,
    );
    expect(still.outcome).toMatchObject({ case: 'error', value: { code: 'invalid_arguments' } });
  });

  it('3.2: what a Zod output schema puts out is what is sent', async () => {
    const outputSchema = z.object({ celsius: z.number(), unit: z.string().default('c') });
    const plain = defineTool({ ...traits, outputSchema, execute: () => ({ celsius: 21, extra: 1 }) });
    expect((await run(plain)).outcome).toEqual({ case: 'valueJson', value: '{"celsius":21,"unit":"c"}' });
    const full = defineTool({
      ...traits,
      outputSchema,
      execute: () => result({ content: 'warm', structured: { celsius: 21 } }),
    });
    expect((await run(full)).outcome).toMatchObject({
      case: 'result',
      value: { structuredJson: '{"celsius":21,"unit":"c"}' },
    });
  });

  it('3.2: what a Zod output schema refuses ends as invalid_output; an error result is not checked', async () => {
    const outputSchema = z.object({ celsius: z.number().max(60) });
    const wrong = defineTool({ ...traits, outputSchema, execute: () => ({ celsius: 400 }) });
    expect((await run(wrong)).outcome).toMatchObject({
      case: 'error',
      value: { code: 'invalid_output', retryable: false },
    });
    const failing = defineTool({
      ...traits,
      outputSchema,
      execute: () => result({ content: 'no station there', isError: true }),
    });
    expect((await run(failing)).outcome).toMatchObject({ case: 'result', value: { isError: true } });
  });

  it.each([
    ['an Error', new Error('boom'), { code: 'tool_error', message: 'boom', retryable: false }],
    ['an Error without a message', new TypeError(), { code: 'tool_error', message: 'TypeError' }],
    ['a string', 'boom', { code: 'tool_error', message: 'boom' }],
    ['nothing', undefined, { code: 'tool_error', message: 'a value of type undefined was thrown' }],
    [
      'a ToolError',
      new ToolError('later', { code: 'busy', retryable: true, retryAfterMs: 1_500, detail: { free: 0 } }),
      {
        code: 'busy',
        message: 'later',
        retryable: true,
        retryAfter: { seconds: 1n, nanos: 500_000_000 },
        detailJson: '{"free":0}',
      },
    ],
    [
      'a ToolError whose detail is no JSON',
      new ToolError('later', { detail: { at: Number.NaN } }),
      { code: 'tool_error', message: 'later', detailJson: expect.stringContaining('/at is NaN') },
    ],
  ])('4.8: %s that it throws is its failure, without a stack', async (_, thrown, expected) => {
    const tool = defineTool({
      ...traits,
      execute: () => {
        throw thrown;
      },
    });
    const { outcome } = await run(tool);
    expect(outcome).toMatchObject({ case: 'error', value: expected });
    expect(
      JSON.stringify(outcome, (_key, value) => (typeof value === 'bigint' ? Number(value) : value)),
    ).not.toContain('handle.test');
  });

  it('3.1: what is no JSON fails the call with the path', async () => {
    const tool = defineTool({ ...traits, execute: () => ({ t: Number.NaN }) });
    expect((await run(tool)).outcome).toMatchObject({
      case: 'error',
      value: { code: 'tool_error', message: expect.stringContaining('/t is NaN') },
    });
  });

  it('4.10: stops as cancelled only by the abort itself', async () => {
    const controller = new AbortController();
    controller.abort(new CallStopped('cancelled', 10));
    const { signal } = controller;
    const obedient = defineTool({ ...traits, execute: (_, context) => context.signal.throwIfAborted() });
    expect((await run(obedient, { signal })).outcome?.case).toBe('cancelled');
    const finishing = defineTool({ ...traits, execute: () => 'done anyway' });
    expect((await run(finishing, { signal })).outcome?.case).toBe('valueJson');
    const failing = defineTool({
      ...traits,
      execute: () => {
        throw new Error('disk full');
      },
    });
    expect((await run(failing, { signal })).outcome).toMatchObject({ value: { message: 'disk full' } });
    expect((await run(obedient)).outcome?.case).toBe('result');
  });

  it('4.9 and 6.11: leaves the call open, or makes it wait for a person', async () => {
    const deferring = defineTool({ ...traits, execute: (_, { defer }) => defer({ timeoutMs: 5_000 }) });
    expect((await run(deferring)).outcome).toMatchObject({
      case: 'toolDefer',
      value: { timeout: { seconds: 5n } },
    });
    const asking = defineTool({
      ...traits,
      execute: (_, { interrupt, resumed }) =>
        resumed === undefined
          ? interrupt({ reason: 'confirm', payload: { eur: 3 } })
          : String(resumed.payload),
    });
    expect((await run(asking)).outcome).toMatchObject({
      case: 'interrupt',
      value: { reason: 'confirm', payloadJson: '{"eur":3}' },
    });
    const resumed = await run(asking, { execute: { resumed: { interruptId: 'i', payloadJson: '"yes"' } } });
    expect(resumed.outcome).toEqual({ case: 'valueJson', value: '"yes"' });
  });

  it('6.13: labels describe the call, and one that throws never fails it', async () => {
    const schema = z.object({ city: z.string() });
    const execute = { arguments: '{"city":"Tokyo"}' };
    const labelled = defineTool({
      ...traits,
      schema,
      execute: () => 'sunny',
      describeActivity: ({ city }) => `Looking at ${city}`,
      describeCompletedActivity: ({ city }, answer) => `${city} is ${answer}`,
    });
    const good = await run(labelled, { execute });
    expect(good.reports).toEqual([{ activity: 'Looking at Tokyo' }]);
    expect(good.outcome).toMatchObject({ case: 'result', value: { activity: 'Tokyo is sunny' } });
    const throwing = () => {
      throw new Error('no words');
    };
    const speechless = defineTool({
      ...traits,
      schema,
      execute: () => 'sunny',
      describeActivity: throwing,
      describeCompletedActivity: throwing,
    });
    const bad = await run(speechless, { execute });
    expect(bad.outcome).toEqual({ case: 'valueJson', value: '"sunny"' });
    expect(bad.reports).toEqual([]);
    expect(bad.warnings).toHaveLength(2);
  });

  it('knows its call', async () => {
    const tool = defineTool({
      ...traits,
      execute(_, context) {
        const { deadline, checkpoint } = context;
        return {
          ...Object.fromEntries(
            Object.entries(context).filter(([, value]) => ['string', 'number'].includes(typeof value)),
          ),
          deadline: deadline?.getTime() ?? null,
          left: context.timeRemaining(),
          checkpoint: checkpoint === undefined ? null : [...checkpoint],
          tenant: context.caller?.tenant ?? null,
          traceparent: context.traceContext['traceparent'] ?? null,
        };
      },
    });
    const { outcome } = await run(tool, {
      execute: {
        attempt: 2,
        idempotencyKey: 'k',
        timeRemaining: { seconds: 5n },
        checkpoint: Uint8Array.of(1, 2),
      },
    });
    expect(JSON.parse(String(outcome?.value))).toEqual({
      argumentsJson: '{}',
      callId: 'call-1',
      toolName: 'weather',
      attempt: 2,
      idempotencyKey: 'k',
      rawArguments: '{}',
      sessionId: 'call:call-1',
      turnId: '',
      agentId: '',
      deadline: 6_000,
      left: 5_000,
      checkpoint: [1, 2],
      tenant: 't',
      traceparent: '00-1',
    });
  });

  it('reports progress that never goes back, and refuses a checkpoint that nobody would keep', async () => {
    const tool = defineTool({
      ...traits,
      execute(_, { progress }) {
        progress({ completed: 2, total: 3, activity: 'Reading' });
        progress({ completed: 1, partial: [text('half')] });
        progress({ checkpoint: new Uint8Array(64 * 1_024 + 1) });
      },
    });
    const { outcome, reports } = await run(tool);
    expect(reports).toMatchObject([{ completed: 2, total: 3, activity: 'Reading' }, { completed: 2 }]);
    expect(reports[1]?.partial).toHaveLength(1);
    expect(outcome).toMatchObject({
      case: 'error',
      value: { message: expect.stringContaining('65537 bytes') },
    });
  });
});
