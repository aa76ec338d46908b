import { describe, expect, it } from 'vitest';
import { ownMetadata, readMetadata } from '../../src/core/own-metadata.ts';

describe('the metadata of a part', () => {
  it.each([
    ['', {}],
    ['{', {}],
    ['[]', {}],
    ['null', {}],
    ['{"spindle":1}', {}],
    ['{"spindle":{"provider":1,"callId":[],"nullForAbsent":"yes"}}', {}],
    ['{"openai":{"itemId":"x"}}', {}],
    [
      '{"spindle":{"provider":"a","callId":"b","nullForAbsent":true,"more":1}}',
      { provider: 'a', callId: 'b', nullForAbsent: true },
    ],
  ])('%s holds what is our own: %j', (json, own) => {
    expect(ownMetadata(json)).toEqual(own);
  });

  it('holds nothing that a provider could not have attached', () => {
    expect(readMetadata('{"a":{"b":1},"c":2,"d":null,"e":[]}')).toEqual({ a: { b: 1 } });
  });
});
