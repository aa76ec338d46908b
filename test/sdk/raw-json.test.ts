import { describe, expect, it } from 'vitest';
import { rawJson, toToolResult } from '../../src/sdk/definitions.ts';

describe('rawJson', () => {
  it.each(['{"id":2512292042121000001}', '{"b":1.0, "a":1e3}', '[1,2]', 'null'])(
    '3.1: %s goes out byte for byte',
    (json) => {
      expect(toToolResult(rawJson(json), { structured: true })).toMatchObject({
        content: [{ kind: { case: 'text', value: { text: json } } }],
        structuredJson: json,
      });
    },
  );

  it('3.1: a JSON string becomes its own text', () => {
    expect(toToolResult(rawJson('"sunny"')).content).toMatchObject([
      { kind: { case: 'text', value: { text: 'sunny' } } },
    ]);
  });

  it.each(['{', '1 2', '', 'NaN'])('3.1: %s is refused, because it is no JSON', (text) => {
    expect(() => rawJson(text)).toThrow('one whole JSON value');
  });
});
