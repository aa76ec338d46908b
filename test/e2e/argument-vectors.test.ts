import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ArgumentRepair, type ToolInput } from '../../gen/spindle/v1/tool_pb.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { method } from './raw-client.ts';
import { type RawWorker, textResult } from './raw-worker.ts';

// Strict: a vector that expects something new must fail here until this file compares it.
const Vector = z.strictObject({
  name: z.string().min(1),
  rule: z.string().regex(/^\d\.\d+$/),
  arguments: z.string(),
  schema: z.union([z.null(), z.boolean(), z.record(z.string(), z.unknown())]),
  repair: z.enum(['never', 'bounded']),
  finish_reason: z.literal('length').optional(),
  expect: z.strictObject({
    status: z.enum(['valid', 'invalid', 'malformed']),
    value_json: z.string().optional(),
    repairs: z.array(z.string()).optional(),
    violation: z.strictObject({ keyword: z.string(), instance_path: z.string() }).optional(),
  }),
});
const vectors = z
  .strictObject({ about: z.string(), vectors: z.array(Vector).min(1) })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, '../vectors/arguments.json'), 'utf8'))).vectors;
/** A caller of a tool is no model, and has no finish reason: test/schema/vectors.test.ts runs these. */
const direct = vectors.filter(({ finish_reason }) => finish_reason === undefined);

let engine: TestEngine;
let worker: RawWorker;

beforeAll(async () => {
  engine = await openEngine();
  worker = await engine.worker(
    vectors.map(({ schema, repair }, index) => ({
      name: `vector-${index}`,
      inputSchemaJson: schema === null ? '' : JSON.stringify(schema),
      argumentRepair: repair === 'bounded' ? ArgumentRepair.BOUNDED : ArgumentRepair.NEVER,
    })),
  );
});
afterAll(() => engine[Symbol.asyncDispose]());

/** What a worker reads of the verdict, in the words of the vectors. */
function readVerdict(input: ToolInput | undefined, text: string) {
  const status = input?.status ?? { case: undefined };
  switch (status.case) {
    case 'valid':
    case 'invalid':
      return {
        status: status.case,
        value_json: status.value.repairedJson ?? text,
        repairs: status.value.repairs,
        violations: status.case === 'invalid' ? status.value.violations : [],
      };
    default:
      return { status: status.case, violations: [] };
  }
}

describe('the vectors of arguments, from a raw client to a raw worker', () => {
  it.each(direct.map((vector) => [vector.rule, vector.name, vector] as const))(
    '%s: %s',
    async (_, __, vector) => {
      const name = `vector-${vectors.indexOf(vector)}`;
      const calling = engine.client.call(method.callTool, {
        name,
        arguments: vector.arguments,
        callId: name,
      });
      const { execute, dispatch, leaseToken } = await worker.work(name);

      expect(execute.name).toBe(name);
      expect(execute.arguments).toBe(vector.arguments);
      const { violations, ...verdict } = readVerdict(execute.input, vector.arguments);
      const { violation, ...expected } = vector.expect;
      expect(verdict).toMatchObject(expected);
      const found = violations.map(({ keyword, instancePath }) => ({ keyword, instance_path: instancePath }));
      expect(found).toEqual(violation === undefined ? found : expect.arrayContaining([violation]));

      // Valid input has no proposal to accept; the proposal for other input is the error that a model reads.
      const isValid = vector.expect.status === 'valid';
      expect(dispatch.proposed === undefined).toBe(isValid);
      const ack = await worker.answer(
        leaseToken,
        isValid ? textResult('ran') : { case: 'accept', value: {} },
      );
      expect(ack.reason).toBe('');
      const { outcome } = await calling;
      const failure = outcome.case === 'error' ? outcome.value : undefined;
      expect(failure?.code).toBe(isValid ? undefined : 'invalid_arguments');
      expect((failure?.message ?? '').length).toBeLessThan(1_000);
      expect(dispatch.proposed?.actions.map(({ kind }) => kind.case)).toEqual(
        isValid ? undefined : ['toolError'],
      );
      expect(dispatch.proposed?.actions.map(({ kind }) => kind.value)).toEqual(
        isValid ? undefined : [expect.objectContaining({ error: failure })],
      );
    },
  );

  it('1.8: a direct call has no finish reason, so the one vector of a cut response is repaired here', async () => {
    const [cut, ...others] = vectors.filter(({ finish_reason }) => finish_reason === 'length');
    expect(others).toEqual([]);
    const name = `vector-${vectors.findIndex(({ name }) => name === cut?.name)}`;
    const calling = engine.client.call(method.callTool, {
      name,
      arguments: cut?.arguments ?? '',
      callId: 'cut',
    });
    const { execute, leaseToken } = await worker.work('cut');
    expect(readVerdict(execute.input, execute.arguments)).toMatchObject({
      status: 'valid',
      repairs: ['closed'],
    });
    await worker.answer(leaseToken, textResult('ran'));
    await calling;
  });

  it('1.9: the error for a model names violations and holds no value of the arguments', async () => {
    const tool = {
      name: 'secretive',
      inputSchemaJson: JSON.stringify({
        type: 'object',
        properties: {
          password: { type: 'string', maxLength: 3, pattern: '^a*$' },
          kind: { enum: ['x', 'y'] },
        },
        required: ['user', 'kind'],
        additionalProperties: false,
      }),
    };
    const other = await engine.worker([tool]);
    const calling = engine.client.call(method.callTool, {
      name: 'secretive',
      arguments: '{"password":"hunter2-hunter2","kind":"hunter3","extra":"hunter4"}',
    });
    const { leaseToken } = await other.work();
    await other.answer(leaseToken, { case: 'accept', value: {} });
    const { outcome } = await calling;
    const message = outcome.case === 'error' ? outcome.value.message : '';
    expect(message).toContain('/password');
    expect(message).not.toContain('hunter');
    expect(message.length).toBeLessThan(1_000);
  });
});
