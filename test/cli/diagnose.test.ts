import { describe, expect, it } from 'vitest';
import { diagnose, diagnosisText } from '../../src/cli/diagnose.ts';

const plain = {
  name: 'greet',
  strict: false,
  inputSchemaJson: '{"type":"object","properties":{"name":{"type":"string"}}}',
};
const picky = {
  name: 'files.find',
  strict: false,
  inputSchemaJson:
    '{"type":"object","properties":{"glob":{"type":"string","pattern":"^(?=/)"}},"not":{"required":["x"]}}',
};
const odd = {
  name: 'odd',
  strict: false,
  inputSchemaJson: '{"type":"object","properties":{"a b":{}},"required":["a b"]}',
};
const open = {
  name: 'open',
  strict: true,
  inputSchemaJson: '{"type":"object","properties":{"any":{}},"required":["any"]}',
};

describe('spindle tools --diagnose', () => {
  it('2.6, 6.6: says of each tool what which provider is not told, equal words once', () => {
    expect(diagnosisText(diagnose([plain, picky, odd, open]))).toBe(`greet
  is told whole to every provider

files.find
  anthropic
    sent as files_find
    at the root: "not" is left out
  openai, openai-chat, openai-compatible, google
    sent as files_find
    at /properties/glob: "pattern" is left out
    at the root: "not" is left out

odd
  anthropic
    left out of requests: the required property "a b" has a name that the provider refuses

open
  anthropic, openai, openai-chat, openai-compatible
    sent without strict: a value of any type, at /properties/any`);
  });

  it('has the same for programs, one entry for each tool and provider', () => {
    const found = diagnose([plain, open]);
    expect(found).toHaveLength(10);
    expect(found.find(({ tool, provider }) => tool === 'open' && provider === 'openai')).toEqual({
      tool: 'open',
      provider: 'openai',
      sentAs: 'open',
      strict: false,
      leftOut: undefined,
      notes: ['sent without strict: a value of any type, at /properties/any'],
    });
  });
});
