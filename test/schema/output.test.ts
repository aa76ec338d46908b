import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ToolResultSchema } from '../../gen/spindle/v1/result_pb.ts';
import { resultOfValue, withContent } from '../../src/schema/answer.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { definedTool } from './tools.ts';

type Fields = Omit<MessageInitShape<typeof ToolResultSchema>, '$typeName'>;
const text = (value: string) => ({ kind: { case: 'text' as const, value: { text: value } } });
const link = { kind: { case: 'resourceLink' as const, value: { uri: 'x:y' } } };

function mismatch(schema: unknown, fields: Fields): string | undefined {
  const schemas = createSchemas();
  const definition = definedTool(schemas, {
    outputSchemaJson: schema === undefined ? '' : JSON.stringify(schema),
  });
  return schemas.checkOutput(definition, create(ToolResultSchema, fields));
}

describe('the check of a result', () => {
  const temperature = { type: 'object', properties: { t: { type: 'number' } }, required: ['t'] };

  it.each([
    ['without a schema anything passes', undefined, { content: [text('a'), text('b')] }],
    ['a structured value', temperature, { structuredJson: '{"t":1}', content: [text('junk'), text('more')] }],
    ['one text that is JSON', temperature, { content: [text(' {"t":1} ')] }],
    ['one text that is none, as a string', { type: 'string' }, { content: [text('warm')] }],
    ['one text that is nearly JSON, as a string', { type: 'string' }, { content: [text('{"t":1,}')] }],
    ['an empty text, as a string', { type: 'string' }, { content: [text('')] }],
    ['a structured string', { type: 'string' }, { structuredJson: '"x"' }],
    ['an error', temperature, { isError: true, content: [text('no'), text('station')] }],
    ['a schema that was dropped', { type: 'nonsense' }, { content: [] }],
  ])('3.2: takes %s', (_name, schema, fields) => {
    expect(mismatch(schema, fields)).toBeUndefined();
  });

  it.each([
    [
      'a structured value that differs',
      temperature,
      { structuredJson: '{"t":"SECRET"}', content: [text('{"t":1}')] },
      '/t must be number',
    ],
    [
      'a structured value that is no JSON',
      temperature,
      { structuredJson: '{SECRET' },
      'structured_json is not usable',
    ],
    ['a structured value with a key twice', temperature, { structuredJson: '{"t":1,"t":2}' }, 'repeated'],
    ['one text that differs', temperature, { content: [text('{"t":"SECRET"}')] }, '/t must be number'],
    ['one text that is no JSON', temperature, { content: [text('SECRET')] }, 'the root must be object'],
    [
      'a number where a string is due',
      { type: 'string' },
      { content: [text('5')] },
      'the root must be string',
    ],
    ['several blocks', {}, { content: [text('{}'), text('SECRET')] }, 'one text block and no other'],
    ['no block', {}, {}, 'one text block and no other'],
    ['a block of another kind', {}, { content: [link] }, 'one text block and no other'],
  ])('3.2: refuses %s', (_name, schema, fields, why) => {
    expect(mismatch(schema, fields)).toContain(why);
    expect(mismatch(schema, fields)).not.toContain('SECRET');
  });
});

describe('an answer by value', () => {
  it.each([
    ['"sunny"', 'sunny'],
    ['""', ''],
    ['"\\u00e9\\n"', 'é\n'],
    ['{"t": 21.0}', '{"t": 21.0}'],
    ['[1,12345678901234567890]', '[1,12345678901234567890]'],
    ['null', 'null'],
    ['true', 'true'],
    [' 5 ', ' 5 '],
  ])('3.1: %s reads as %j', (json, expected) => {
    const bare = resultOfValue(json, false);
    const structured = resultOfValue(json, true);
    expect(bare).toMatchObject({ kind: 'result', result: { content: [text(expected)] } });
    expect(bare).not.toHaveProperty('result.structuredJson', expect.anything());
    expect(structured).toMatchObject({ result: { content: [text(expected)], structuredJson: json } });
  });

  it.each([
    '',
    'sunny',
    '{"a":1,}',
    'NaN',
    '{"a":1,"a":2}',
    '"\\ud800"',
    `${'['.repeat(65)}${']'.repeat(65)}`,
  ])('3.1: %s is unreadable', (json) => {
    expect(resultOfValue(json, false)).toMatchObject({
      kind: 'unreadable',
      reason: expect.stringContaining('value_json'),
    });
  });

  it('3.1: nothing at all is one empty text block', () => {
    expect(withContent(create(ToolResultSchema)).content).toMatchObject([text('')]);
    expect(withContent(create(ToolResultSchema, { structuredJson: '1' })).content).toEqual([]);
    expect(withContent(create(ToolResultSchema, { content: [link] })).content).toMatchObject([link]);
  });
});
