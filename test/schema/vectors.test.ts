import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ContentSchema, ToolResultSchema } from '../../gen/spindle/v1/result_pb.ts';
import { resultOfValue, withContent } from '../../src/schema/answer.ts';
import { explainInput } from '../../src/schema/explain.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { definedTool, summary } from './tools.ts';

const vectors = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../vectors', name), 'utf8'));

const JsonSchema = z.unknown();
const Arguments = z.object({
  vectors: z.array(
    z.object({
      name: z.string(),
      rule: z.string(),
      arguments: z.string(),
      schema: JsonSchema,
      repair: z.enum(['never', 'bounded']),
      finish_reason: z.string().default('tool_calls'),
      expect: z.object({
        status: z.string(),
        value_json: z.string().optional(),
        repairs: z.array(z.string()).optional(),
        violation: z.object({ keyword: z.string(), instance_path: z.string() }).optional(),
      }),
    }),
  ),
});

const TextBlock = z.object({ text: z.string() });
const Results = z.object({
  vectors: z.array(
    z.object({
      name: z.string(),
      rule: z.string(),
      answer: z
        .union([
          z.strictObject({ value_json: z.string() }),
          z.strictObject({
            result: z.strictObject({
              content: z.array(z.strictObject(TextBlock.shape)).default([]),
              structured_json: z.string().optional(),
              is_error: z.boolean().default(false),
            }),
          }),
        ])
        .optional()
        .catch(undefined),
      output_schema: JsonSchema,
      expect: z.object({
        end: z.string(),
        content: z.array(z.unknown()).optional(),
        structured_json: z.string().optional(),
        is_error: z.boolean().optional(),
      }),
    }),
  ),
});

describe('the vectors of arguments', () => {
  const schemas = createSchemas();
  const { vectors: cases } = Arguments.parse(vectors('arguments.json'));

  it.each(cases.map((each) => [each.rule, each.name, each] as const))('%s: %s', (_rule, _name, vector) => {
    const schema = vector.schema === null ? '' : JSON.stringify(vector.schema);
    const input = schemas.checkArguments(
      definedTool(schemas, { inputSchemaJson: schema }),
      vector.arguments,
      {
        repair: vector.repair === 'bounded',
        stoppedForLength: vector.finish_reason === 'length',
      },
    );
    const { violation, ...rest } = vector.expect;
    const actual = summary(input, vector.arguments);
    expect(actual).toMatchObject(rest);
    expect(actual.violations).toEqual(
      violation === undefined
        ? actual.violations
        : expect.arrayContaining([
            expect.objectContaining({ keyword: violation.keyword, instancePath: violation.instance_path }),
          ]),
    );
    expect(explainInput('t', input).length).toBeLessThan(1_000);
  });
});

describe('the vectors of results that are text', () => {
  const schemas = createSchemas();
  const cases = Results.parse(vectors('results.json')).vectors.filter((each) => each.answer !== undefined);

  it('are most of them', () => {
    expect(cases.length).toBeGreaterThanOrEqual(11);
  });

  it.each(cases.map((each) => [each.rule, each.name, each] as const))('%s: %s', (_rule, _name, vector) => {
    const schema = vector.output_schema === null ? '' : JSON.stringify(vector.output_schema);
    const definition = definedTool(schemas, { outputSchemaJson: schema });
    const answer = vector.answer ?? { value_json: '' };
    const read =
      'value_json' in answer
        ? resultOfValue(answer.value_json, schema !== '')
        : ({
            kind: 'result',
            result: withContent(
              create(ToolResultSchema, {
                content: answer.result.content.map(({ text }) =>
                  create(ContentSchema, { kind: { case: 'text', value: { text } } }),
                ),
                ...(answer.result.structured_json === undefined
                  ? {}
                  : { structuredJson: answer.result.structured_json }),
                isError: answer.result.is_error,
              }),
            ),
          } as const);
    const result = read.kind === 'result' ? read.result : create(ToolResultSchema);
    const mismatch = schemas.checkOutput(definition, result);
    const { content, structured_json: structuredJson, is_error: isError, end } = vector.expect;
    expect(mismatch === undefined ? 'result' : 'error').toBe(end);
    expect(result).toMatchObject({
      ...(structuredJson === undefined ? {} : { structuredJson }),
      ...(isError === undefined ? {} : { isError }),
    });
    const texts = result.content.map((block) => ({
      text: block.kind.case === 'text' ? block.kind.value.text : '',
    }));
    expect(texts).toEqual(content ?? texts);
  });
});
