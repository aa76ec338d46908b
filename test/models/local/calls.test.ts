import { describe, expect, it } from 'vitest';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import { createLocalModel } from '../../../src/models/local.ts';
import { modelCall } from '../model-call.ts';
import { checkCall, type TestTool, tool } from './converse.ts';

const text = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
const date = { type: 'string', format: 'date' };
const email = { type: 'string', format: 'email' };

const SETS: Readonly<Record<string, readonly TestTool[]>> = {
  weather: [
    tool('get_forecast', 'Weather forecast for a location', {
      properties: {
        location: text,
        days: { type: 'integer', minimum: 1, maximum: 10 },
        unit: { enum: ['celsius', 'fahrenheit'] },
      },
      required: ['location'],
    }),
    tool('get_air_quality', 'The air quality index at a place', { properties: { place: text } }),
  ],
  files: [
    tool('readFile', 'Read the contents of a file', { properties: { filePath: text } }),
    tool('listDirectory', 'List the entries of a directory', {
      properties: { path: text, recursive: { type: 'boolean' } },
      required: ['path'],
    }),
    tool('deleteFile', 'Delete a file for good', { properties: { filePath: text }, destructive: true }),
    tool('moveFile', 'Move or rename a file', { properties: { source: text, destination: text } }),
    tool('grep', 'Search for a pattern in files', {
      properties: { pattern: text, path: text, ignore_case: { type: 'boolean' } },
      required: ['pattern'],
    }),
  ],
  bank: [
    tool('transfer_funds', 'Move money from one account to another', {
      properties: {
        amount: { type: 'number', exclusiveMinimum: 0, maximum: 10_000 },
        currency: { enum: ['EUR', 'USD', 'GBP'] },
        from: text,
        to: text,
        reference: text,
      },
      required: ['amount', 'currency', 'from', 'to'],
    }),
    tool('account_balance', 'How much money an account holds', {
      properties: { account: text },
      readOnly: true,
    }),
    tool('pay_person', 'Pay money to somebody', { properties: { payee: text, amount_cents: integer } }),
  ],
  calendar: [
    tool('schedule_meeting', 'Put a meeting into the calendar', {
      properties: {
        title: text,
        start: { type: 'string', format: 'date-time' },
        duration_minutes: { type: 'integer', minimum: 5 },
        attendees: { type: 'array', items: email },
      },
      required: ['title', 'start'],
    }),
    tool('agenda', 'What is in the calendar on a day', { properties: { day: date } }),
    tool('free_slots', 'Free times between two days', { properties: { start_date: date, end_date: date } }),
  ],
  search: [
    tool('search_web', 'Search the internet', {
      properties: { query: text, max_results: { type: 'integer', maximum: 50 } },
      required: ['query'],
    }),
    tool('fetch_url', 'Download a page', { properties: { url: { type: 'string', format: 'uri' } } }),
  ],
  mail: [
    tool('send_mail', 'Send an e-mail message', {
      properties: { to: { type: 'array', items: email, minItems: 1 }, subject: text, body: text },
      required: ['to', 'body'],
    }),
    tool('search_mail', 'Find messages in the mailbox', {
      properties: { sender: email, since: date, text },
      required: [],
    }),
  ],
  sql: [
    tool('execute_sql', 'Run a SQL statement', { properties: { statement: text } }),
    tool('select_rows', 'Read rows of a table', {
      properties: {
        table: { enum: ['customers', 'orders', 'line_items'] },
        columns: { type: 'array', items: text },
        limit: integer,
      },
      required: ['table'],
    }),
  ],
  units: [
    tool('convert_units', 'Convert a measurement to another unit', {
      properties: { value: number, from_unit: text, to_unit: text },
    }),
    tool('convert_temperature', 'Convert a temperature', {
      properties: {
        degrees: number,
        from: { enum: ['celsius', 'fahrenheit', 'kelvin'] },
        to: { enum: ['celsius', 'fahrenheit', 'kelvin'] },
      },
    }),
  ],
  todo: [
    tool('create_todo', 'Add an entry to the to-do list', {
      properties: {
        title: text,
        due: date,
        priority: { enum: ['low', 'normal', 'high'] },
        tags: { type: 'array', items: text },
      },
      required: ['title'],
    }),
    tool('list_todos', 'Show the to-do list', { properties: { done: { type: 'boolean' } }, required: [] }),
    tool('finish_todo', 'Mark an entry as done', { properties: { id: integer } }),
    tool('remove_todo', 'Delete an entry', { properties: { id: integer } }),
  ],
  shop: [
    tool('add_to_cart', 'Put a product into the cart', {
      properties: { product: text, quantity: { type: 'integer', minimum: 1 } },
      required: ['product'],
    }),
    tool('order_status', 'Where an order is', {
      properties: { order_id: { type: 'string', pattern: '^[A-Z]{2}-\\d+$' } },
    }),
  ],
  home: [
    tool('set_light', 'Switch a lamp on or off', {
      properties: {
        room: text,
        state: { enum: ['on', 'off'] },
        brightness: { type: 'integer', minimum: 0, maximum: 100 },
      },
      required: ['room', 'state'],
    }),
    tool('set_thermostat', 'Set the temperature of a room', { properties: { room: text, celsius: number } }),
  ],
  nested: [
    tool('create_customer', 'Create a customer', {
      properties: {
        name: text,
        contact: { type: 'object', properties: { email, phone: text }, required: ['email'] },
        address: { type: 'object', properties: { city: text, zip: text } },
      },
      required: ['name', 'contact'],
    }),
  ],
  shapes: [
    tool('area', 'The area of a shape', {
      schema: {
        type: 'object',
        properties: {
          shape: {
            oneOf: [
              {
                type: 'object',
                properties: { kind: { const: 'circle' }, radius: number },
                required: ['kind', 'radius'],
              },
              {
                type: 'object',
                properties: { kind: { const: 'rectangle' }, width: number, height: number },
                required: ['kind', 'width', 'height'],
              },
            ],
          },
        },
        required: ['shape'],
      },
    }),
  ],
  delegate: [tool('researcher', 'Finds things out and reports on them', { properties: { message: text } })],
  clock: [tool('current_time', 'The time now')],
};

/** What a person says, and the calls that the first response makes. */
const TABLE: readonly (readonly [set: string, said: string, calls: readonly string[]])[] = [
  ['weather', 'What will the weather be in Bergen?', ['get_forecast {"location":"Bergen"}']],
  [
    'weather',
    'forecast for Rio de Janeiro for 5 days in fahrenheit',
    ['get_forecast {"location":"Rio de Janeiro","days":5,"unit":"fahrenheit"}'],
  ],
  [
    'weather',
    'Is it raining in Cardiff, Dublin and Oslo?',
    [
      'get_forecast {"location":"Cardiff"}',
      'get_forecast {"location":"Dublin"}',
      'get_forecast {"location":"Oslo"}',
    ],
  ],
  [
    'weather',
    'How is the air quality in Delhi, and what is the weather there?',
    ['get_air_quality {"place":"Delhi"}'],
  ],
  ['files', 'read src/main.ts', ['readFile {"filePath":"src/main.ts"}']],
  [
    'files',
    'Please show me the contents of README.md and docs/sdk.md',
    ['readFile {"filePath":"README.md"}', 'readFile {"filePath":"docs/sdk.md"}'],
  ],
  ['files', 'list the directory src recursively', ['listDirectory {"path":"src","recursive":true}']],
  ['files', 'Delete old.log', ['deleteFile {"filePath":"old.log"}']],
  ['files', 'rename a.txt to b.txt', ['moveFile {"source":"a.txt","destination":"b.txt"}']],
  [
    'files',
    'move notes/a.md from notes/a.md to archive/a.md',
    ['moveFile {"source":"notes/a.md","destination":"archive/a.md"}'],
  ],
  ['files', 'search for "TODO" in src', ['grep {"pattern":"TODO","path":"src"}']],
  [
    'files',
    'grep for `retry_after` in docs ignoring case',
    ['grep {"pattern":"retry_after","path":"docs","ignore_case":true}'],
  ],
  [
    'bank',
    'Transfer 120.50 euros from current to holiday',
    ['transfer_funds {"amount":120.5,"currency":"EUR","from":"current","to":"holiday"}'],
  ],
  [
    'bank',
    'please move $1,200 to savings from checking',
    ['transfer_funds {"amount":1200,"currency":"USD","from":"checking","to":"savings"}'],
  ],
  ['bank', 'How much money is in the account DE-4711?', ['account_balance {"account":"DE-4711"}']],
  [
    'bank',
    'Pay 5 euros to Ann and 12.50 euros to Bob',
    ['pay_person {"payee":"Ann","amount_cents":500}', 'pay_person {"payee":"Bob","amount_cents":1250}'],
  ],
  [
    'calendar',
    'Schedule a meeting "Budget" on 3 March 2026 at 14:30 for 45 minutes with ann@corp.io',
    [
      'schedule_meeting {"title":"Budget","start":"2026-03-03T14:30:00Z","duration_minutes":45,"attendees":["ann@corp.io"]}',
    ],
  ],
  ['calendar', 'What is in my calendar on 2026-03-03?', ['agenda {"day":"2026-03-03"}']],
  [
    'calendar',
    'free times between 2026-03-01 and 2026-03-05',
    ['free_slots {"start_date":"2026-03-01","end_date":"2026-03-05"}'],
  ],
  [
    'calendar',
    'Am I free from 1 May 2026 until 4 May 2026?',
    ['free_slots {"start_date":"2026-05-01","end_date":"2026-05-04"}'],
  ],
  [
    'search',
    'Search the internet for the history of the paper clip',
    ['search_web {"query":"history of the paper clip"}'],
  ],
  [
    'search',
    'search for "quantum dots", at most 5 results',
    ['search_web {"query":"quantum dots","max_results":5}'],
  ],
  ['search', 'download https://example.com/page', ['fetch_url {"url":"https://example.com/page"}']],
  [
    'mail',
    'Send a mail to ann@corp.io and bob@corp.io saying that lunch is ready',
    ['send_mail {"to":["ann@corp.io","bob@corp.io"],"body":"that lunch is ready"}'],
  ],
  [
    'mail',
    'find messages from ann@corp.io since 2026-01-01',
    ['search_mail {"sender":"ann@corp.io","since":"2026-01-01"}'],
  ],
  ['sql', 'run SELECT count(*) FROM orders', ['execute_sql {"statement":"SELECT count(*) FROM orders"}']],
  ['sql', 'show 10 rows of the table line items', ['select_rows {"table":"line_items","limit":10}']],
  [
    'units',
    'convert 12 inches to centimetres',
    ['convert_units {"value":12,"from_unit":"inches","to_unit":"centimetres"}'],
  ],
  [
    'units',
    'Convert -40 degrees celsius to fahrenheit',
    ['convert_temperature {"degrees":-40,"from":"celsius","to":"fahrenheit"}'],
  ],
  ['todo', 'add "buy stamps" to my to-do list', ['create_todo {"title":"buy stamps"}']],
  [
    'todo',
    'add a todo to renew the passport due 2026-07-01 with high priority',
    ['create_todo {"title":"renew the passport","due":"2026-07-01","priority":"high"}'],
  ],
  ['todo', 'show my to-do list', ['list_todos {}']],
  [
    'todo',
    'mark todos 2, 3 and 5 as done',
    ['finish_todo {"id":2}', 'finish_todo {"id":3}', 'finish_todo {"id":5}'],
  ],
  ['todo', 'delete todo 4', ['remove_todo {"id":4}']],
  [
    'todo',
    'remove entry 4 and add "call Ann" to the list',
    ['remove_todo {"id":4}', 'create_todo {"title":"call Ann"}'],
  ],
  ['shop', 'put three lamps into my cart', ['add_to_cart {"product":"lamps","quantity":3}']],
  [
    'shop',
    'add 2 apples and 3 pears to the cart',
    ['add_to_cart {"product":"apples","quantity":2}', 'add_to_cart {"product":"pears","quantity":3}'],
  ],
  ['shop', 'Where is order AB-123?', ['order_status {"order_id":"AB-123"}']],
  ['home', 'turn the light in the kitchen on', ['set_light {"room":"kitchen","state":"on"}']],
  [
    'home',
    'Switch off the lamps in the hall and the bedroom',
    ['set_light {"room":"hall","state":"off"}', 'set_light {"room":"bedroom","state":"off"}'],
  ],
  [
    'home',
    'set the temperature in the bathroom to 23.5',
    ['set_thermostat {"room":"bathroom","celsius":23.5}'],
  ],
  [
    'nested',
    'Create a customer named Ann Lee with the email ann@lee.org in the city Bergen',
    ['create_customer {"name":"Ann Lee","contact":{"email":"ann@lee.org"},"address":{"city":"Bergen"}}'],
  ],
  ['shapes', 'area of a circle with radius 3', ['area {"shape":{"kind":"circle","radius":3}}']],
  [
    'shapes',
    'What is the area of a rectangle with width 3 and height 4.5?',
    ['area {"shape":{"kind":"rectangle","width":3,"height":4.5}}'],
  ],
  ['delegate', 'Find out why the sky is blue', ['researcher {"message":"Find out why the sky is blue"}']],
  ['clock', 'What time is it?', ['current_time {}']],
];

/** What a person says that no call can come of, and words of the answer. */
const NO_CALLS: readonly (readonly [set: string, said: string, words: readonly string[]])[] = [
  ['weather', 'What is the weather?', ['get_forecast', 'the location']],
  ['weather', 'Weather in Bergen for 30 days', ['must be at most 10', '30']],
  ['weather', 'Write me a poem about the sea', ['no tool', 'get_forecast']],
  ['weather', 'Who was the first king of Norway?', ['no tool']],
  ['files', 'Translate hello into French', ['no tool']],
  ['bank', 'Transfer 120 euros to holiday', ['the from']],
  ['bank', 'Transfer 50,000 dollars from current to holiday', ['must be at most 10000', '50,000']],
  ['bank', 'What is the weather in Oslo?', ['no tool']],
  ['calendar', 'Schedule a meeting "Budget" tomorrow at noon', ['the start']],
  ['mail', 'Send a mail to Ann saying hello', ['the to']],
  ['shop', 'Where is my order?', ['the order id']],
  ['shop', 'Where is order 123?', ['order id', '123']],
  ['clock', 'Delete all my files', ['no tool']],
];

async function respond(set: string, said: string) {
  const call = modelCall({
    model: 'local/demo',
    messages: [
      {
        role: Role.USER,
        parts: [{ kind: { case: 'content', value: { kind: { case: 'text', value: { text: said } } } } }],
      },
    ],
    tools: (SETS[set] ?? []).map((each) => each.tool),
  });
  const answer = await createLocalModel()(call);
  if (answer.kind === 'failure') throw new Error(answer.failure.message);
  const parts = answer.response.message?.parts ?? [];
  const calls = parts.flatMap(({ kind }) => (kind.case === 'toolCall' ? [kind.value] : []));
  const words = parts.map(({ kind }) =>
    kind.case === 'content' && kind.value.kind.case === 'text' ? kind.value.kind.value.text : '',
  );
  return { calls, text: words.join('') };
}

describe('the local model calls tools that it has never seen', () => {
  it.each(TABLE)('%s: %s', async (set, said, expected) => {
    const { calls, text: words } = await respond(set, said);
    expect([...calls.map((call) => `${call.name} ${call.arguments}`), words].filter(Boolean)).toEqual(
      expected,
    );
    for (const call of calls) {
      const called = SETS[set]?.find((each) => each.tool.name === call.name);
      expect(called && checkCall(called.tool, call.arguments).status.case).toBe('valid');
    }
  });
});

describe('the local model makes no call where none can be made honestly', () => {
  it.each(NO_CALLS)('%s: %s', async (set, said, words) => {
    const { calls, text: answer } = await respond(set, said);
    expect(calls.map((call) => `${call.name} ${call.arguments}`)).toEqual([]);
    for (const word of words) expect(answer).toContain(word);
  });
});
