import { describe, expect, it } from 'vitest';
import { converse, type TestTool, ToolFailure, tool } from './converse.ts';

const text = { type: 'string' };
const integer = { type: 'integer' };

const hidden = {
  name: 'get_weather',
  description: 'The weather in a city',
  input_schema: { type: 'object', properties: { city: text }, required: ['city'] },
};

function deferred(found: readonly unknown[]): readonly TestTool[] {
  return [
    tool('tool_search', 'Finds tools by what they do.', {
      properties: { query: text },
      run: () => ({ tools: found, more: 0 }),
    }),
    tool('call_tool', 'Calls a tool that a search found.', {
      properties: { name: text, arguments: { type: 'object' } },
      run: ({ arguments: args }: Record<string, unknown>) => ({ temperature: 21, args }),
    }),
  ];
}

const files: readonly TestTool[] = [
  tool('list_folder', 'Lists the files of a folder.', {
    properties: { folder: text },
    run: () => ['a.md', 'b.md'],
  }),
  tool('count_words', 'Counts the words of a file', {
    properties: { path: text },
    run: () => ({ words: 28 }),
  }),
  tool('city_of', 'Finds the city of a person', {
    properties: { person: text },
    run: () => ({ city: 'Lima', country: 'Peru' }),
  }),
];

/** The engine's tool that ends a task; it takes the first value, as the engine does. */
function submit(schema: unknown, refuse?: string): TestTool {
  let refusals = refuse === undefined ? 0 : 1;
  return tool('submit_result', 'Ends the task with its result.', {
    properties: { result: schema },
    run: () => {
      if (refusals === 0) return 'accepted';
      refusals -= 1;
      throw new ToolFailure(refuse ?? '', 'invalid_arguments');
    },
  });
}

describe('the local model with deferred tools', () => {
  it('6.8: searches where no tool at hand fits, and calls what it found, once for each value', async () => {
    const told = await converse(deferred([hidden]), 'What is the weather in Oslo and in Rome?');
    expect(told.steps).toEqual([
      [expect.stringMatching(/^tool_search \{"query":".*weather.*"\}$/)],
      [
        'call_tool {"name":"get_weather","arguments":{"city":"Oslo"}}',
        'call_tool {"name":"get_weather","arguments":{"city":"Rome"}}',
      ],
    ]);
    expect(told.answer).toContain('21');
  });

  it('6.8: asks for what a found tool needs, and makes no call without it', async () => {
    const told = await converse(deferred([hidden]), 'What is the weather?');
    expect(told.steps.flat().filter((call) => call.startsWith('call_tool'))).toEqual([]);
    expect(told.answer).toContain('To use get_weather I need the city');
  });

  it('6.8: searches once, and says that it has no tool', async () => {
    const told = await converse(deferred([]), 'Write a poem');
    expect(told.steps).toEqual([['tool_search {"query":"Write poem"}']]);
    expect(told.answer).toContain('I have no tool for "Write a poem"');
  });

  it('6.8: does not search where a tool at hand fits', async () => {
    const told = await converse([...files, ...deferred([hidden])], 'How many words are in a.md?');
    expect(told.steps).toEqual([['count_words {"path":"a.md"}']]);
  });
});

describe('the local model with a task', () => {
  it.each([
    [
      'a member of a result',
      { type: 'object', properties: { words: integer }, required: ['words'] },
      'How many words are in a.md?',
      '{"words":28}',
    ],
    ['the one value of the type that is wanted', integer, 'How many words are in a.md?', '28'],
    ['its own sentence where a text is wanted', text, 'How many words are in a.md?', '"There are 28 words."'],
    [
      'a list, and how long it is',
      {
        type: 'object',
        properties: { count: integer, files: { type: 'array', items: text } },
        required: ['count', 'files'],
      },
      'Which files are in the folder docs?',
      '{"count":2,"files":["a.md","b.md"]}',
    ],
    [
      'a result that is what is wanted',
      { type: 'array', items: text },
      'Which files are in the folder docs?',
      '["a.md","b.md"]',
    ],
    [
      'values under other names above them',
      {
        type: 'object',
        properties: {
          place: { type: 'object', properties: { city: text, country: text }, required: ['city', 'country'] },
        },
        required: ['place'],
      },
      'Find the city of Ann',
      '{"place":{"city":"Lima","country":"Peru"}}',
    ],
  ])('6.12: submits %s', async (_, schema, said, result) => {
    const told = await converse([...files, submit(schema)], said);
    expect(told.steps.at(-1)).toEqual([`submit_result {"result":${result}}`]);
  });

  it('6.12: submits nothing that no tool answered and nobody said', async () => {
    const schema = { type: 'object', properties: { population: integer }, required: ['population'] };
    const told = await converse([...files, submit(schema)], 'How many words are in a.md?');
    expect(told.steps).toEqual([['count_words {"path":"a.md"}']]);
    expect(told.answer).toContain('28');
    expect(told.answer).toContain('I cannot submit a result');
  });

  it('6.12: gives up where its result is refused for what it cannot mend', async () => {
    const refuse =
      'The arguments for "submit_result" do not match its schema: /result must be at least 100. Correct them and call the tool again.';
    const told = await converse([...files, submit(integer, refuse)], 'How many words are in a.md?');
    expect(told.steps.flat().filter((call) => call.startsWith('submit'))).toEqual([
      'submit_result {"result":28}',
    ]);
    expect(told.answer).toContain('I cannot submit a result');
  });
});
