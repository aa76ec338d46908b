import { describe, expect, it } from 'vitest';
import { nameFault } from '../../src/schema/tool-fields.ts';
import { refusal } from './tools.ts';

describe('the fields of a tool', () => {
  it.each([
    'a',
    'get_weather',
    'files.read',
    'a-b/c:d',
    'große',
    '天気',
    '🌦',
    'x'.repeat(256),
    '🌦'.repeat(256),
  ])('2.2: takes the name %s', (name) => {
    expect(nameFault(name)).toBeUndefined();
  });

  it.each([
    '',
    ' ',
    'a b',
    'a\n',
    '\u00a0',
    'a\u0000',
    'a\u200b',
    '\ud800',
    '\ufeffa',
    'x'.repeat(257),
    '🌦'.repeat(257),
  ])('2.2: refuses the name %j', (name) => {
    expect(nameFault(name)).toBeDefined();
  });

  it.each(['tool_search', 'call_tool', 'submit_result'])('4.11: the name %s is reserved', (name) => {
    expect(refusal({ name })).toMatch(new RegExp(`^tool "${name}": its name is reserved`));
  });

  it('names the tool and the field', () => {
    expect(refusal({ name: 'slow', retry: { maxAttempts: 0 } })).toBe(
      'tool "slow": retry.max_attempts has to be from 1 to 100',
    );
  });
});
