import { describe, expect, it } from 'vitest';
import type { ModelAnswer } from '../../../src/engine/ports.ts';
import { loopWorld, textResult } from './loop-world.ts';

const TRIP = {
  name: 'trip',
  description: 'Plans a trip.',
  strict: true,
  inputSchemaJson: JSON.stringify({
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city'],
  }),
};
const HELLO = { instanceId: 'w', streamNumber: 1, tools: [{ tool: TRIP }] };
const WRITTEN = { city: 'Oslo', days: null };

/** As a provider marks the calls that were made under its strict form. */
function marked(answer: ModelAnswer): ModelAnswer {
  if (answer.kind === 'response') {
    for (const part of answer.response.message?.parts ?? [])
      part.providerMetadataJson = '{"spindle":{"nullForAbsent":true}}';
  }
  return answer;
}

describe('2.6: what a provider had to change', () => {
  it.each([
    [true, { status: { case: 'valid', value: { repairedJson: '{"city":"Oslo"}', repairs: ['nulls'] } } }],
    [false, { status: { case: 'invalid' } }],
  ])('null for what is absent: under a strict form %s', async (strict, verdict) => {
    const inputs: unknown[] = [];
    const world = await loopWorld(
      [{ calls: [{ id: 'c1', name: 'trip', arguments: WRITTEN }] }, 'Done.'],
      1,
      strict ? { change: marked } : {},
    );
    await world.worker(HELLO, ({ input, arguments: text }) => {
      inputs.push(input);
      expect(JSON.parse(text)).toEqual(WRITTEN);
      return textResult('planned');
    });
    await world.start();
    await world.say('Plan a trip.');
    expect(inputs).toMatchObject([verdict]);
    expect(await world.ended()).toMatchObject({ case: 'finished' });
  });

  it('a tool that it cannot be told about is named in the event, with the reason', async () => {
    const toolsLeftOut = () => [{ name: 'trip', reason: 'its name is too odd' }];
    const world = await loopWorld(['Done.'], 1, { toolsLeftOut });
    await world.worker(HELLO, () => textResult('planned'));
    await world.start();
    await world.say('Plan a trip.');
    const requested = (await world.log()).flatMap(({ kind }) =>
      kind.case === 'modelCallRequested' ? kind.value : [],
    );
    expect(requested).toMatchObject([{ toolsLeftOut: ['trip: its name is too odd.'] }]);
  });
});
