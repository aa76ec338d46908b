import { readFileSync } from 'node:fs';
import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ToolResultSchema } from '../../gen/spindle/v1/result_pb.ts';
import { audio, image, resource, resourceLink, result, text, toToolResult } from '../../src/sdk/index.ts';

interface Vector {
  readonly name: string;
  readonly rule: string;
  readonly returned?: unknown;
  readonly answer?: { readonly value_json?: string };
  readonly output_schema: unknown;
  readonly expect: {
    readonly end: 'result' | 'refused' | 'error';
    readonly content?: readonly { readonly text?: string }[];
    readonly names?: readonly string[];
  };
}

const { vectors }: { readonly vectors: readonly Vector[] } = JSON.parse(
  readFileSync(new URL('../vectors/results.json', import.meta.url), 'utf8'),
);

/** The text blocks of a result, in the notation of the vectors. */
function textBlocks(value: unknown, options?: Parameters<typeof toToolResult>[1]) {
  return toToolResult(value, options).content.map(({ kind }) => ({
    [kind.case ?? 'none']: kind.case === 'text' ? kind.value.text : undefined,
  }));
}

describe('toToolResult, by the vectors', () => {
  const returned = vectors.filter((vector) => 'returned' in vector);
  const results = returned.filter((vector) => vector.expect.end === 'result');
  const refusals = returned.filter((vector) => vector.expect.end === 'refused');
  const values = vectors.filter(
    (vector) => vector.answer?.value_json !== undefined && vector.expect.end === 'result',
  );

  it('has vectors of each kind', () => {
    expect([results.length, refusals.length, values.length].every((count) => count > 0)).toBe(true);
  });

  it.each(results)('$rule: $name', ({ returned: value, expect: expected }) => {
    expect(textBlocks(value)).toEqual(expected.content);
  });

  it.each(refusals)('$rule: $name', ({ returned: value, expect: expected }) => {
    for (const name of expected.names ?? []) expect(() => toToolResult(value)).toThrow(name);
    expect(expected.names).not.toHaveLength(0);
  });

  it.each(values)('$rule: $name (as the value that the handler returned)', ({ answer, expect: expected }) => {
    expect(textBlocks(JSON.parse(answer?.value_json ?? ''))).toEqual(expected.content);
  });
});

describe('toToolResult', () => {
  it.each([
    ['nothing at all', undefined, [{ text: '' }]],
    ['a string', 'sunny', [{ text: 'sunny' }]],
    ['an empty string', '', [{ text: '' }]],
    ['null', null, [{ text: 'null' }]],
    ['a number', 21, [{ text: '21' }]],
    ['an object', { t: 21 }, [{ text: '{"t":21}' }]],
    ['an undefined member, left out', { t: 21, u: undefined }, [{ text: '{"t":21}' }]],
    ['an empty array', [], [{ text: '[]' }]],
    ['an array of data', [{ text: 'a' }], [{ text: '[{"text":"a"}]' }]],
    ['data with a text member', { text: 'a' }, [{ text: '{"text":"a"}' }]],
    ['data with a string in content', { content: 'a' }, [{ text: '{"content":"a"}' }]],
    ['data with a result member', { result: 1 }, [{ text: '{"result":1}' }]],
    [
      'data that holds blocks beside other members',
      { id: 1, content: [{ type: 'text', text: 'a' }] },
      [{ text: '{"id":1,"content":[{"type":"text","text":"a"}]}' }],
    ],
    ['one block', text('a'), [{ text: 'a' }]],
    ['blocks', [text('a'), text('b')], [{ text: 'a' }, { text: 'b' }]],
    ["a block in MCP's shape", { type: 'text', text: 'a' }, [{ text: 'a' }]],
    [
      'data that has a type and a text of its own',
      { type: 'text', text: 'a', author: 'b' },
      [{ text: '{"type":"text","text":"a","author":"b"}' }],
    ],
    ['a result in a member', { result: result({ content: 'a' }) }, [{ text: 'a' }]],
    ['a result without content', result({ structured: { t: 1 } }), [{ text: '{"t":1}' }]],
    ['an empty result', result({}), [{ text: '' }]],
    ['empty content', { content: [] }, [{ text: '' }]],
    ['an empty message', create(ToolResultSchema), [{ text: '' }]],
  ])('3.1: %s', (_, value, blocks) => {
    expect(textBlocks(value)).toEqual(blocks);
  });

  it('3.1: a plain value of a tool with an output schema is structured as well', () => {
    expect(toToolResult('21', { structured: true })).toMatchObject({ structuredJson: '"21"' });
    expect(textBlocks('21', { structured: true })).toEqual([{ text: '21' }]);
    expect(toToolResult({ t: 21 }, { structured: true })).toMatchObject({ structuredJson: '{"t":21}' });
    expect(toToolResult({ t: 21 }).structuredJson).toBeUndefined();
  });

  it('3.1: every kind of block keeps its fields', () => {
    const bytes = Uint8Array.of(137, 80);
    const { content } = toToolResult([
      text('# a', { mimeType: 'text/markdown' }),
      image(bytes, 'image/png'),
      audio(bytes, 'audio/wav'),
      resource('file:///a', 'words', 'text/plain'),
      resource('file:///b', bytes),
      resourceLink('https://a.example/', { name: 'a', mimeType: 'text/html' }),
    ]);
    expect(content.map(({ kind }) => kind)).toMatchObject([
      { case: 'text', value: { text: '# a', mimeType: 'text/markdown' } },
      { case: 'image', value: { data: bytes, mimeType: 'image/png' } },
      { case: 'audio', value: { data: bytes, mimeType: 'audio/wav' } },
      { case: 'resource', value: { uri: 'file:///a', body: { case: 'text', value: 'words' } } },
      { case: 'resource', value: { uri: 'file:///b', body: { case: 'data', value: bytes } } },
      { case: 'resourceLink', value: { uri: 'https://a.example/', name: 'a', mimeType: 'text/html' } },
    ]);
  });

  it("3.1: every kind of block of MCP's shape is read", () => {
    const { content } = toToolResult({
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', data: 'iVA=', mimeType: 'image/png' },
        { type: 'audio', data: 'iVA=', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'file:///a', blob: 'iVA=', mimeType: 'image/png' } },
        { type: 'resource', resource: { uri: 'file:///b', text: 'words' } },
        { type: 'resource_link', uri: 'https://a.example/', name: 'a' },
      ],
      isError: true,
      structuredContent: { t: 1 },
    });
    expect(content.map(({ kind }) => kind.case)).toEqual([
      'text',
      'image',
      'audio',
      'resource',
      'resource',
      'resourceLink',
    ]);
    expect(content[1]?.kind.value).toMatchObject({ data: Uint8Array.of(0x89, 0x50) });
  });

  it('3.1: a full result keeps every field', () => {
    const full = {
      content: [text('a')],
      structured: { t: 1 },
      isError: true,
      endsTurn: true,
      activity: 'Looked outside',
      details: { ms: 3 },
    };
    const expected = {
      structuredJson: '{"t":1}',
      isError: true,
      endsTurn: true,
      activity: 'Looked outside',
      detailsJson: '{"ms":3}',
    };
    expect(toToolResult(full)).toMatchObject(expected);
    const presentation = [{ eventType: 'chart', payload: [1, 2] }];
    expect(toToolResult(result({ ...full, presentation }))).toMatchObject({
      ...expected,
      presentation: [{ eventType: 'chart', payloadJson: '[1,2]' }],
    });
  });

  const cycle: { self?: unknown } = {};
  cycle.self = { back: [cycle] };
  const deep = JSON.parse(`${'['.repeat(1_001)}${']'.repeat(1_001)}`);
  class Money {
    readonly cents = 3;
  }

  it.each([
    ['NaN', { a: [Number.NaN] }, '/a/0 is NaN'],
    ['an infinity', { a: Number.NEGATIVE_INFINITY }, '/a is -Infinity'],
    ['a BigInt', { a: { b: 1n } }, '/a/b is a BigInt'],
    ['a cycle', cycle, '/self/back/0 is a cycle'],
    ['a function', { f: () => 1 }, '/f is a function'],
    ['a symbol', { s: Symbol('s') }, '/s is a symbol'],
    ['an undefined element', { a: [undefined] }, '/a/0 is undefined'],
    ['a hole', new Array(2), '/0 is undefined'],
    ['a Map', { m: new Map() }, '/m is an instance of Map'],
    ['a Date', { at: new Date(0) }, '/at is a Date'],
    ['an instance', { price: new Money() }, '/price is an instance of Money'],
    ['bytes', { data: Uint8Array.of(1) }, '/data is an instance of Uint8Array'],
    ['a block in data', { a: [text('a'), 1] }, '/a/0 is a message spindle.v1.Content'],
    ['a top-level NaN', Number.NaN, 'it is NaN'],
    ['a top-level function', () => 1, 'it is a function'],
    ['a key that needs escapes', { 'a/b': { '~': Number.NaN } }, '/a~1b/~0 is NaN'],
    ['too deep a value', deep, 'deeper than 1000 levels'],
    ['a NaN in structured', result({ structured: { t: Number.NaN } }), '/t is NaN'],
    ['a NaN in details', result({ details: { t: Number.NaN } }), '`details`'],
    ['blocks mixed with data', [text('a'), { t: 1 }], '/1 is no block'],
    ['content mixed with data', { content: [text('a'), 3] }, '/1 is no block'],
  ])('3.1: %s is refused with its path', (_, value, message) => {
    expect(() => toToolResult(value)).toThrow(message);
  });

  it('3.1: a value that is met twice is no cycle', () => {
    const shared = { t: 1 };
    expect(textBlocks([shared, shared])).toEqual([{ text: '[{"t":1},{"t":1}]' }]);
  });

  it('3.1: every JSON value comes through as its own JSON', () => {
    fc.assert(
      fc.property(
        fc.jsonValue().filter((value) => typeof value !== 'string'),
        (value) => {
          const { content, structuredJson } = toToolResult(value, { structured: true });
          expect(structuredJson).toBe(JSON.stringify(value));
          expect(content.map(({ kind }) => kind.value)).toMatchObject([{ text: JSON.stringify(value) }]);
        },
      ),
    );
  });

  it('5.2: what is not valid Unicode is replaced, in values, in keys and in text', () => {
    expect(toToolResult({ '\ud800': ['\udc00a'] }, { structured: true }).structuredJson).toBe(
      '{"\ufffd":["\ufffda"]}',
    );
    const bytes = toBinary(ToolResultSchema, toToolResult('\ud800a'));
    expect(new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toContain('\ufffda');
  });

  it('1.6: a key __proto__ is data', () => {
    expect(textBlocks(JSON.parse('{"__proto__":{"a":1}}'))).toEqual([{ text: '{"__proto__":{"a":1}}' }]);
  });
});
