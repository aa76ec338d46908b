import { describe, expect, it } from 'vitest';
import { createLocalModel } from '../../../src/models/local.ts';
import { modelCall } from '../model-call.ts';
import { converse, type TestTool, ToolFailure, tool } from './converse.ts';

const text = { type: 'string' };
const integer = { type: 'integer' };

const files: readonly TestTool[] = [
  tool('list_folder', 'Lists the files of a folder.', {
    properties: { folder: text },
    run: () => ['a.md', 'b.md'],
  }),
  tool('read_file', 'Reads a text file.', {
    properties: { path: text },
    run: ({ path }) => {
      if (path === 'none.txt') throw new ToolFailure('There is no file none.txt.');
      return `secret of ${path}`;
    },
  }),
  tool('count_words', 'Counts the words of a file', {
    properties: { path: text },
    run: ({ path }) => ({ words: String(path).length * 7 }),
  }),
  tool('write_note', 'Writes a note to a file', { properties: { name: text, text } }),
];
const mail: readonly TestTool[] = [
  tool('find_contact', 'Finds a contact by name, with the e-mail address', {
    properties: { name: text },
    run: ({ name }) => ({ name, email: `${String(name).toLowerCase()}@corp.example` }),
  }),
  tool('send_email', 'Sends an e-mail', {
    properties: { to: { type: 'string', format: 'email' }, body: text },
    run: () => ({ message_id: 'm-17' }),
  }),
];
const todo: readonly TestTool[] = [
  tool('list_tasks', 'Lists all open tasks', {
    run: () => [
      { id: 3, title: 'buy milk' },
      { id: 4, title: 'call mum' },
    ],
  }),
  tool('delete_task', 'Deletes a task', { properties: { id: integer }, run: ({ id }) => ({ deleted: id }) }),
];
const people: readonly TestTool[] = [
  tool('lookup_user', 'Looks up a user', {
    properties: { username: text },
    output: { type: 'object', properties: { user_id: integer } },
    run: () => ({ user_id: 4711 }),
  }),
  tool('list_orders', 'Lists the orders of a user', {
    properties: { user_id: integer },
    run: () => [{ order: 'AB-1', total: 12.5 }],
  }),
];

function refusing(words: string): TestTool[] {
  return [
    tool('weather', 'The weather in a city', {
      properties: { city: text, unit: text, days: integer },
      required: ['city'],
      run: (args) => {
        if (JSON.stringify(args) === '{"city":"Oslo","unit":"celsius"}') return { temperature: 12 };
        throw new ToolFailure(
          `The arguments for "weather" do not match its schema: ${words} Correct them and call the tool again.`,
          'invalid_arguments',
        );
      },
    }),
  ];
}

interface Row {
  readonly title: string;
  readonly tools: readonly TestTool[];
  readonly said: string | readonly string[];
  readonly steps: readonly (readonly string[])[];
  /** Words of the answer. */
  readonly says: readonly string[];
  readonly system?: string;
}

const TABLE: readonly Row[] = [
  {
    title: 'calls in parallel what does not depend on one another',
    tools: files,
    said: 'Read a.md and b.md',
    steps: [['read_file {"path":"a.md"}', 'read_file {"path":"b.md"}']],
    says: ['secret of a.md', 'secret of b.md'],
  },
  {
    title: 'finds out first what a later call needs',
    tools: mail,
    said: 'Send an e-mail to Bob saying hello',
    steps: [['find_contact {"name":"Bob"}'], ['send_email {"to":"bob@corp.example","body":"hello"}']],
    says: ['m-17'],
  },
  {
    title: 'uses what an earlier clause found',
    tools: mail,
    said: "Find Ann's e-mail address and send her 'see you'",
    steps: [['find_contact {"name":"Ann"}'], ['send_email {"to":"ann@corp.example","body":"see you"}']],
    says: ['ann@corp.example', 'm-17'],
  },
  {
    title: 'looks for a tool whose output schema promises what is missing',
    tools: people,
    said: 'List the orders of the user ann_lee',
    steps: [['lookup_user {"username":"ann_lee"}'], ['list_orders {"user_id":4711}']],
    says: ['AB-1', '12.5'],
  },
  {
    title: 'hands the text of one result to the next call',
    tools: files,
    said: 'Read notes.txt and write it to a note called copy.txt',
    steps: [
      ['read_file {"path":"notes.txt"}'],
      ['write_note {"name":"copy.txt","text":"secret of notes.txt"}'],
    ],
    says: ['copy.txt'],
  },
  {
    title: 'goes through a list that a tool answered',
    tools: files,
    said: 'List the files in docs and count the words of each',
    steps: [
      ['list_folder {"folder":"docs"}'],
      ['count_words {"path":"a.md"}', 'count_words {"path":"b.md"}'],
    ],
    says: ['there are 28 words'],
  },
  {
    title: 'knows what "it" was in an earlier call',
    tools: files,
    said: 'Read a.txt, then count the words in it',
    steps: [['read_file {"path":"a.txt"}'], ['count_words {"path":"a.txt"}']],
    says: ['secret of a.txt', 'there are 35 words'],
  },
  {
    title: 'picks the row that is spoken of',
    tools: todo,
    said: 'Delete the task about milk',
    steps: [['list_tasks {}'], ['delete_task {"id":3}']],
    says: ['3'],
  },
  {
    title: 'takes all rows only when all are meant',
    tools: todo,
    said: 'Delete all tasks',
    steps: [['list_tasks {}'], ['delete_task {"id":3}', 'delete_task {"id":4}']],
    says: ['3', '4'],
  },
  {
    title: 'asks when it cannot tell which row is meant',
    tools: todo,
    said: 'Delete the task',
    steps: [['list_tasks {}']],
    says: ['buy milk', 'call mum', 'I need the id'],
  },
  {
    title: '6.7: says what failed, and what did not',
    tools: files,
    said: 'Read none.txt and a.txt',
    steps: [['read_file {"path":"none.txt"}', 'read_file {"path":"a.txt"}']],
    says: ['read_file failed for none.txt: There is no file none.txt.', 'secret of a.txt'],
  },
  {
    title: '1.9: corrects the spelling of a value that is listed in a refusal',
    tools: refusing('/unit must be one of "celsius", "fahrenheit".'),
    said: 'The weather in Oslo with unit Celsius',
    steps: [['weather {"city":"Oslo","unit":"Celsius"}'], ['weather {"city":"Oslo","unit":"celsius"}']],
    says: ['temperature is 12'],
  },
  {
    title: '1.9: gives up where a correction would change what was said',
    tools: refusing('/days must be at most 7.'),
    said: 'The weather in Oslo for 9 days',
    steps: [['weather {"city":"Oslo","days":9}']],
    says: ['weather failed', 'must be at most 7'],
  },
  {
    title: 'gives up where a refusal says nothing that it can mend',
    tools: refusing('the root must not have this form.'),
    said: 'The weather in Oslo',
    steps: [['weather {"city":"Oslo"}']],
    says: ['weather failed', 'must not have this form'],
  },
  {
    title: 'goes on with what was asked before',
    tools: files,
    said: ['Read a.md', 'and b.md?', 'What about c.md and d.md?'],
    steps: [
      ['read_file {"path":"a.md"}'],
      ['read_file {"path":"b.md"}'],
      ['read_file {"path":"c.md"}', 'read_file {"path":"d.md"}'],
    ],
    says: ['secret of c.md', 'secret of d.md'],
  },
  {
    title: 'takes another wish for another wish, though no tool is there for it',
    tools: files,
    said: ['Read a.md', 'Tell me a joke'],
    steps: [['read_file {"path":"a.md"}']],
    says: ['I have no tool for "Tell me a joke"'],
  },
  {
    title: 'takes the answer to its own question',
    tools: files,
    said: ['Read a file', 'secret.txt'],
    steps: [['read_file {"path":"secret.txt"}']],
    says: ['secret of secret.txt'],
  },
  {
    title: 'knows a day by its distance only where the instructions say what day it is',
    tools: [
      tool('agenda', 'What is in the calendar on a day', {
        properties: { day: { type: 'string', format: 'date' } },
      }),
    ],
    said: 'What is in my calendar tomorrow?',
    system: 'You help a person. Today is 2026-02-28.',
    steps: [['agenda {"day":"2026-03-01"}']],
    says: ['done'],
  },
];

describe('the local model in conversations', () => {
  it.each(TABLE)('$title', async ({ tools, said, steps, says, system = '' }) => {
    const told = await converse(tools, said, { system });
    expect(told.steps).toEqual(steps);
    for (const words of says) expect(told.answer).toContain(words);
  });

  it('6.4: says what it has where the tools are taken away', async () => {
    const { messages } = await converse(files, 'Read a.md');
    const answered = await createLocalModel()(
      modelCall({ model: 'local/demo', messages: messages.slice(0, -1) }),
    );
    expect(JSON.stringify(answered.kind === 'response' && answered.response.message)).toContain(
      'secret of a.md',
    );
  });
});
