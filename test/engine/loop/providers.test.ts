import { describe, expect, it } from 'vitest';
import { ArgumentRepair } from '../../../gen/spindle/v1/tool_pb.ts';
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

  it.each([
    ['null for what is absent', WRITTEN, {}, ['nulls'], '{"city":"Oslo"}'],
    [
      "the agent's repair",
      '{"city":"Oslo",}',
      { argumentRepair: ArgumentRepair.BOUNDED },
      ['commas'],
      '{"city":"Oslo"}',
    ],
  ] as const)(
    '5.11: %s holds under the definition of another worker too',
    async (_, written, agent, repairs, repairedJson) => {
      const inputs: unknown[] = [];
      const world = await loopWorld(
        [{ calls: [{ id: 'c1', name: 'trip', arguments: written }] }, 'Done.'],
        1,
        { change: marked },
      );
      await world.worker(HELLO, (execute) => {
        inputs.push(execute);
        return textResult('planned');
      });
      const declared = { ...TRIP, description: 'Plans a journey.' };
      await world.start({ useTools: [], tools: [declared], ...agent });
      await world.say('Plan a trip.');
      expect(inputs).toMatchObject([
        { input: { status: { case: 'valid', value: { repairedJson, repairs } } } },
      ]);
      const events = await world.log();
      const dispatched = events.flatMap(({ kind }) => (kind.case === 'toolCallDispatched' ? kind.value : []));
      expect(dispatched).toMatchObject([
        { toolDigest: expect.stringMatching(/^sha256-/), input: { status: { case: 'valid' } } },
      ]);
    },
  );

  it('1.8: arguments that a response was cut in are not closed under another definition', async () => {
    const inputs: unknown[] = [];
    const world = await loopWorld(
      [{ calls: [{ id: 'c1', name: 'trip', arguments: '{"city":"Oslo"' }], finish: 'length' }, 'Done.'],
      1,
    );
    const mending = { tool: { ...TRIP, argumentRepair: ArgumentRepair.BOUNDED } };
    await world.worker({ ...HELLO, tools: [mending] }, ({ input }) => {
      inputs.push(input?.status.case);
      return textResult('planned');
    });
    await world.start({ useTools: [], tools: [TRIP], argumentRepair: ArgumentRepair.BOUNDED });
    await world.say('Plan a trip.');
    expect(inputs).toEqual(['malformed']);
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
