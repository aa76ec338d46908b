import { describe, expect, it } from 'vitest';
import { loopWorld, textResult } from './loop-world.ts';

const WEATHER = {
  name: 'weather',
  description: 'The weather of a city.',
  inputSchemaJson: JSON.stringify({
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  }),
};
const HELLO = { instanceId: 'w', streamNumber: 1, tools: [{ tool: WEATHER }] };

describe('a turn', () => {
  it('6.1: goes from input over a model call, its calls and their results to an answer', async () => {
    const world = await loopWorld([
      { calls: [{ id: 'c1', name: 'weather', arguments: { city: 'Oslo' } }] },
      'It is sunny in Oslo.',
    ]);
    await world.worker(HELLO, () => textResult('sunny'));
    await world.start();
    const started = await world.say('How is the weather in Oslo?');
    expect(started).toMatchObject({ ok: true });
    expect(await world.ended()).toMatchObject({ case: 'finished', value: { iterations: 2 } });
    expect(world.requests).toHaveLength(2);
  });
});
