import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_REPAIR_BYTES } from '../../src/core/limits.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { nearJson } from './fuzz/near-json.ts';
import { check, summary } from './tools.ts';

const repaired = (text: string, stoppedForLength = false) =>
  check(undefined, text, { repair: true, stoppedForLength });

describe('the repair ladder', () => {
  it.each([
    ['fence', '```\n{"a":1}\n```', '{"a":1}', ['fence']],
    ['fence, with white space around it', ' \n```json\n{"a":1}\n```\n', '{"a":1}', ['fence']],
    ['fence, on one line', '```json {"a":1} ```', '{"a":1}', ['fence']],
    ['fence, with nothing between', '```{"a":1}```', '{"a":1}', ['fence']],
    ['fence, of four marks', '````JSON\r\n{"a":1}\r\n````', '{"a":1}', ['fence']],
    ['fence, around backticks in a value', '```json\n{"a":"```x```"}\n```', '{"a":"```x```"}', ['fence']],
    ['fence, with white space kept inside', '```\n{ "a" :1 }\n```', '{ "a" :1 }', ['fence']],
    ['encoded', '"{\\"a\\":{\\"b\\":\\"\\\\\\"c\\"}}"', '{"a":{"b":"\\"c"}}', ['encoded']],
    ['encoded in a fence', '```json\n"{\\"a\\":1}"\n```', '{"a":1}', ['fence', 'encoded']],
    ['encoded, and sloppy inside', '"{\'a\':1,}"', '{"a":1}', ['encoded', 'commas', 'quotes']],
    ['trailing_text: prose', '{"a":1}\n\nI hope this helps: 3 "things" it\'s.', '{"a":1}', ['trailing_text']],
    ['trailing_text: a closing fence alone', '{"a":1}\n```', '{"a":1}', ['trailing_text']],
    ['trailing_text: a token of a template', '{"a":1}}\n</tool_call>', '{"a":1}', ['trailing_text']],
    ['trailing_text: closers', '{"a":[1]}]}}', '{"a":[1]}', ['trailing_text']],
    ['trailing_text: a semicolon', '{"a":1};', '{"a":1}', ['trailing_text']],
    ['trailing_text: a comment before prose is prose', '{"a":1} // x\nbye', '{"a":1}', ['trailing_text']],
    ['trailing_text: a comment without an end', '{"a":1} /* x', '{"a":1}', ['trailing_text']],
    ['commas, in objects and arrays', '{"a":[1,2,],"b":{"c":1,},}', '{"a":[1,2],"b":{"c":1}}', ['commas']],
    ['commas, before white space', '{"a":1 , }', '{"a":1  }', ['commas']],
    ['commas, before a comment', '{"a":1, /* x */ }', '{"a":1  }', ['commas', 'comments']],
    ['quotes, single', "{'a':'it is \"b\"'}", '{"a":"it is \\"b\\""}', ['quotes']],
    ['quotes, single and escaped', "{'a':'it\\'s'}", '{"a":"it\'s"}', ['quotes']],
    ['quotes, escaped for nothing', '{"a":"it\\\'s"}', '{"a":"it\'s"}', ['quotes']],
    ['quotes, none around a key', '{a:1,$b_2:{été:2}}', '{"a":1,"$b_2":{"été":2}}', ['quotes']],
    ['quotes, with other escapes kept', "{'a':'\\u00e9\\n\\\\'}", '{"a":"\\u00e9\\n\\\\"}', ['quotes']],
    ['comments, of a line', '{"a":1, // one\n"b":2}', '{"a":1, \n"b":2}', ['comments']],
    ['comments, of a block', '/* x */{"a":/* "y" */1}/* z */', '{"a":1}', ['comments']],
    ['comments, not in strings', '{"a":"http://x/*y*/",}', '{"a":"http://x/*y*/"}', ['commas']],
    ['closed, after a string', '{"a":"x"', '{"a":"x"}', ['closed']],
    ['closed, after a literal', '{"a":true', '{"a":true}', ['closed']],
    ['closed, after a number and white space', '{"a":1 \n', '{"a":1}', ['closed']],
    ['closed, after a container', '{"a":[{"b":[]}', '{"a":[{"b":[]}]}', ['closed']],
    ['closed, several', '{"a":[[{"b":"c"', '{"a":[[{"b":"c"}]]}', ['closed']],
    ['closed, with nothing in it yet', '{', '{}', ['closed']],
    ['closed, after a comma', '{"a":"x",', '{"a":"x"}', ['commas', 'closed']],
    ['closed, after a comma and a line', '{"a":["x",\n', '{"a":["x"]}', ['commas', 'closed']],
    [
      'all that one text can need',
      "```json\n{'a':'x', // y\nb:['z',]\n```",
      '{"a":"x", \n"b":["z"]}',
      ['fence', 'commas', 'quotes', 'comments', 'closed'],
    ],
    [
      'numbers keep their spelling',
      '{"a":1.0,"b":12345678901234567890,"c":1E+2,}',
      '{"a":1.0,"b":12345678901234567890,"c":1E+2}',
      ['commas'],
    ],
    ['keys are data', "{'__proto__':{'constructor':1}}", '{"__proto__":{"constructor":1}}', ['quotes']],
  ])('1.7: %s', (_name, text, json, repairs) => {
    expect(repaired(text)).toMatchObject({ status: 'valid', value_json: json, repairs });
  });

  it.each([
    ['prose before an object', 'Here: {"a":1}'],
    ['prose around a fence', 'Here:\n```json\n{"a":1}\n```'],
    ['text after a fence', '```json\n{"a":1}\n```\ndone'],
    ['two fences', '```json\n{"a":1}\n```\n```json\n{"a":2}\n```'],
    ['two fences, the second of prose', '```json\n{"a":1}\n```\nor\n```\nnot\n```'],
    ['a fence without an end', '```json\n{"a":1}'],
    ['an encoded object, encoded again', '"\\"{}\\""'],
    ['an encoded array', '"[1]"'],
    ['an encoded nothing', '""'],
    ['an encoded object with text after it', '"{}" ok'],
    ['the same object twice', '{"x":3,"y":2}{"x":3,"y":2}'],
    ['an object and the start of another', '{"a":1}{"a":'],
    ['an object and a line with another', '{"a":1}\n{"b":2}'],
    ['an object, prose and another', '{"a":1} and then {"b":2}'],
    ['an object and an array', '{"a":1} [2]'],
    ['an object and a string', '{"a":1} "b"'],
    ['an object and a number', '{"a":1}, 5'],
    ['an object and a literal', '{"a":1} null'],
    ['an object closed too early', '{"a":1},"b":2}'],
    ['an object written into another', '{"a":"b"{"a":"b"}'],
    ['two commas', '{"a":1,,"b":2}'],
    ['a comma alone', '{,}'],
    ['a hole in an array', '{"a":[1,,2]}'],
    ['a missing comma', '{"a":1 "b":2}'],
    ['a missing colon', '{"a" 1}'],
    ['a missing value', '{"a":,"b":1}'],
    ['the wrong closer', '{"a":[1}'],
    ['curly quotes', '{“a”:1}'],
    ['backticks for quotes', '{"a":`x`}'],
    ['a word for a value', '{"a":tokyo}'],
    ['literals of Python', "{'a':True,'b':None}"],
    ['NaN', '{"a":NaN,}'],
    ['undefined', '{"a":undefined}'],
    ['a number of JSON5', '{"a":.5,}'],
    ['a plus sign', '{"a":+1,}'],
    ['hexadecimal', '{"a":0xff,}'],
    ['an escape of JSON5', "{'a':'\\x41'}"],
    ['a raw line feed in a string', '{"a":"x\ny"}'],
    ['a comment of a shell', '{"a":1 # x\n}'],
    ['a byte order mark', '\ufeff{"a":1}'],
    ['an array', '[1,]'],
    ['duplicate keys', '{"a":1,\'a\':2}'],
    ['duplicate keys, one without quotes', '{"a":1,a:2}'],
    ['a lone surrogate', "{'a':'\\ud83d'}"],
    ['too deep', `{"a":${'['.repeat(64)}`],
    ['a key that is no identifier', '{a-b:1}'],
  ])('1.7: refuses %s', (_name, text) => {
    expect(repaired(text)).toMatchObject({ status: 'malformed' });
  });

  it.each([
    ['a string', '{"a":"x'],
    ['a string, after a backslash', '{"a":"x\\'],
    ['a string in single quotes', "{'a':'x"],
    ['a string that reads like an end', '{"a":"x}]'],
    ['a number', '{"a":1'],
    ['a number in an array', '{"a":[1,2'],
    ['a number after its sign', '{"a":-'],
    ['a number after its point', '{"a":1.'],
    ['a number in its exponent', '{"a":1e+10'],
    ['a literal', '{"a":fals'],
    ['a key', '{"a":"x","b'],
    ['a key without quotes', '{a:"x",b'],
    ['a member, before its colon', '{"a":"x","b"'],
    ['a member, after its colon', '{"a":"x","b": '],
    ['a comment', '{"a":"x" /* y'],
    ['an encoded object', '"{\\"a\\":\\"x\\"'],
    ['nothing but white space, after a start', '```json\n'],
  ])('1.8: text cut inside %s stays malformed', (_name, text) => {
    expect(repaired(text)).toMatchObject({ status: 'malformed', error: expect.stringMatching(/no repair/) });
  });

  it('1.8: cuts of a text are malformed, or keep what was complete and no more', () => {
    const text = '{"a":{"b":[1,"x",true,null,{}]},"c":-1.5e3}';
    const whole = new Set([
      '{}',
      '{"a":{}}',
      '{"a":{"b":[]}}',
      '{"a":{"b":[1]}}',
      '{"a":{"b":[1,"x"]}}',
      '{"a":{"b":[1,"x",true]}}',
      '{"a":{"b":[1,"x",true,null]}}',
      '{"a":{"b":[1,"x",true,null,{}]}}',
    ]);
    for (let length = 1; length < text.length; length += 1) {
      const cut = repaired(text.slice(0, length));
      expect(cut.value_json === undefined || whole.has(cut.value_json)).toBe(true);
      expect(repaired(text.slice(0, length), true).status).toBe('malformed');
    }
  });

  it('1.8: what is complete is repaired although the model stopped for length', () => {
    expect(repaired("{'a':1,}", true)).toMatchObject({ status: 'valid', repairs: ['commas', 'quotes'] });
    expect(repaired('{"a":1} and so', true)).toMatchObject({ status: 'valid', repairs: ['trailing_text'] });
  });

  it('1.8: empty arguments are no empty object when the model stopped for length', () => {
    expect(repaired('', true)).toMatchObject({ status: 'malformed' });
    expect(repaired('')).toMatchObject({ status: 'valid', value_json: '{}', repairs: ['empty'] });
  });

  it('1.7: runs on at most 64 KiB, and valid text of any size needs none', () => {
    const text = (size: number, end: string): string => `{"a":"${'x'.repeat(size - 7 - end.length)}"${end}`;
    expect(repaired(text(MAX_REPAIR_BYTES, ',}'))).toMatchObject({ status: 'valid' });
    expect(repaired(text(MAX_REPAIR_BYTES + 1, ',}'))).toMatchObject({
      error: expect.stringContaining('65536 bytes'),
    });
    expect(repaired(text(4 * MAX_REPAIR_BYTES, '}'))).toMatchObject({ status: 'valid', repairs: [] });
  });

  it('1.7: is off unless asked for', () => {
    expect(check(undefined, '{"a":1,}')).toMatchObject({ status: 'malformed' });
  });

  const schemas = createSchemas();
  const verdict = (text: string) =>
    summary(schemas.checkArguments(undefined, text, { repair: true, stoppedForLength: false }), text);

  it('1.7: never touches valid JSON', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(verdict(text)).toMatchObject({ status: 'valid', value_json: text, repairs: [] });
      }),
    );
  });

  it('1.7: what it makes is JSON that needs no repair', () => {
    fc.assert(
      fc.property(nearJson, (text) => {
        const first = verdict(text);
        const again = verdict(first.value_json ?? '{}');
        expect(again).toMatchObject({ status: 'valid', repairs: [], value_json: first.value_json ?? '{}' });
      }),
      { numRuns: 3_000 },
    );
  });

  it('1.7: reads the sloppy spelling of a value as the value', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const { status, value_json } = verdict(sloppy(value));
        expect(status).toBe('valid');
        expect(JSON.parse(value_json ?? 'null')).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

/** Writes a value with single quotes, trailing commas and comments everywhere. */
function sloppy(value: unknown): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map((item) => `${sloppy(item)},/* ' */`).join('')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, inner]) => `${sloppy(key)} : ${sloppy(inner)}, // "\n`);
  return `{${members.join('')}}`;
}
