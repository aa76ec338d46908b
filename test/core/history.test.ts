import { create, equals, type MessageInitShape } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  ChatMessageSchema,
  type PartSchema,
  Role,
} from '../../gen/spindle/v1/message_pb.ts';
import { failure } from '../../src/core/failure.ts';
import { EMPTY_RESULT } from '../../src/core/fit-result.ts';
import { EMPTY_CONTENT, repairHistory } from '../../src/core/history.ts';
import { MAX_HISTORY_REPAIRS, MAX_INLINE_TEXT_BYTES, TEXT_EXCERPT_BYTES } from '../../src/core/limits.ts';

type PartInit = MessageInitShape<typeof PartSchema>;

function text(value: string): PartInit {
  return { kind: { case: 'content', value: { kind: { case: 'text', value: { text: value } } } } };
}

function call(callId: string, args = '{}'): PartInit {
  return { kind: { case: 'toolCall', value: { callId, name: 'look', arguments: args } } };
}

function result(callId: string, said = 'found'): PartInit {
  const value = { content: [{ kind: { case: 'text' as const, value: { text: said } } }] };
  return {
    kind: { case: 'toolResult', value: { callId, name: 'look', outcome: { case: 'result', value } } },
  };
}

function says(role: Role, ...parts: PartInit[]): ChatMessage {
  return create(ChatMessageSchema, { id: `m-${role}`, role, parts });
}

const user = (...parts: PartInit[]) => says(Role.USER, ...parts);
const model = (...parts: PartInit[]) => says(Role.ASSISTANT, ...parts);
const tool = (...parts: PartInit[]) => says(Role.TOOL, ...parts);

const NAMES: Readonly<Record<Role, string>> = {
  [Role.UNSPECIFIED]: 'NOBODY',
  [Role.SYSTEM]: 'SYSTEM',
  [Role.USER]: 'USER',
  [Role.ASSISTANT]: 'ASSISTANT',
  [Role.TOOL]: 'TOOL',
};

/** One line a part: who, what, and the text that matters. */
function shown(messages: readonly ChatMessage[]): readonly string[] {
  return messages.flatMap(({ role, parts }) =>
    parts.map(({ kind }) => {
      switch (kind.case) {
        case 'content':
          return `${NAMES[role]} ${kind.value.kind.case === 'text' ? kind.value.kind.value.text : kind.value.kind.case}`;
        case 'toolCall':
          return `${NAMES[role]} calls ${kind.value.callId} ${kind.value.arguments}`;
        case 'toolResult':
          return `${NAMES[role]} answers ${kind.value.callId} ${answerOf(kind.value.outcome)}`;
        default:
          return `${NAMES[role]} ${kind.case}`;
      }
    }),
  );
}

function answerOf({ case: kind, value }: { case: string | undefined; value?: unknown }): string {
  if (kind === 'error') return 'error';
  const { content } = value as { content: { kind: { value: { text: string } } }[] };
  return content.map((block) => block.kind.value.text).join('|');
}

describe('a sound history', () => {
  const sound = [
    says(Role.SYSTEM, text('be brief')),
    user(text('look twice')),
    model(text('looking'), call('a'), call('b')),
    tool(result('a')),
    tool(result('b')),
    model(call('c'), call('d')),
    tool(result('c'), result('d')),
    model(text('done')),
  ];

  it('6.5: stays as it is, message for message', () => {
    const { messages, repairs } = repairHistory(sound);
    expect(repairs).toEqual([]);
    expect(messages.every((message, at) => message === sound[at])).toBe(true);
    expect(messages).toHaveLength(sound.length);
  });
});

describe('6.5: a history with faults', () => {
  const cases: readonly (readonly [string, readonly ChatMessage[], readonly string[], readonly RegExp[]])[] =
    [
      [
        'gives a call without a result one that says so',
        [user(text('hi')), model(call('a'), call('b')), tool(result('b')), user(text('well?'))],
        [
          'USER hi',
          'ASSISTANT calls a {}',
          'ASSISTANT calls b {}',
          'TOOL answers a error',
          'TOOL answers b found',
          'USER well?',
        ],
        [/^call a had no result/],
      ],
      [
        'moves a result behind its call',
        [model(call('a')), user(text('hurry')), tool(result('a'))],
        ['ASSISTANT calls a {}', 'TOOL answers a found', 'USER hurry'],
        [/^1 results stood apart .* message 1/],
      ],
      [
        'puts results in the order of the calls',
        [model(call('a'), call('b')), tool(result('b', 'two'), result('a', 'one'))],
        ['ASSISTANT calls a {}', 'ASSISTANT calls b {}', 'TOOL answers a one', 'TOOL answers b two'],
        [/^the results of the calls in message 1 were put in the order/],
      ],
      [
        'drops a second result and one that belongs to no call',
        [model(call('a')), tool(result('a', 'one'), result('a', 'two'), result('z'))],
        ['ASSISTANT calls a {}', 'TOOL answers a one'],
        [/^call a had 1 results too many/, /^1 results belong to no call with the id z/],
      ],
      [
        'tells two parallel calls with one id apart, each with its own result',
        [model(call('a', '{"n":1}'), call('a', '{"n":2}')), tool(result('a', 'one'), result('a', 'two'))],
        [
          'ASSISTANT calls a {"n":1}',
          'ASSISTANT calls a-2 {"n":2}',
          'TOOL answers a one',
          'TOOL answers a-2 two',
        ],
        [/^the id a was used again, and the later call got the id a-2/],
      ],
      [
        'tells an id apart that a later response uses again, past ids that are taken',
        [
          model(call('a')),
          tool(result('a', 'one')),
          model(call('a'), call('a-2')),
          tool(result('a', 'two'), result('a-2')),
        ],
        [
          'ASSISTANT calls a {}',
          'TOOL answers a one',
          'ASSISTANT calls a-3 {}',
          'ASSISTANT calls a-2 {}',
          'TOOL answers a-3 two',
          'TOOL answers a-2 found',
        ],
        [/^the id a was used again, and the later call got the id a-3/],
      ],
      [
        'gives a call without an id one',
        [model(call('')), tool(result('', 'one'))],
        ['ASSISTANT calls call-2 {}', 'TOOL answers call-2 one'],
        [/^a call without an id got the id call-2/],
      ],
      [
        'gives what says nothing a placeholder, and leaves empty instructions out',
        [says(Role.SYSTEM), user(text(' ')), model(), user(), model(text(''), text('yes'))],
        [`USER ${EMPTY_CONTENT}`, `ASSISTANT ${EMPTY_CONTENT}`, `USER ${EMPTY_CONTENT}`, 'ASSISTANT yes'],
        [
          /^message 1 holds empty/,
          /^message 2 says/,
          /^message 3 says/,
          /^message 4 says/,
          /^message 5 holds blank/,
        ],
      ],
      [
        'gives an answer that is reasoning alone a placeholder',
        [user(text('hi')), model({ kind: { case: 'reasoning', value: { text: 'hm' } } })],
        ['USER hi', 'ASSISTANT reasoning', `ASSISTANT ${EMPTY_CONTENT}`],
        [/^message 2 says nothing/],
      ],
      [
        'gives an empty result a placeholder',
        [model(call('a')), tool(result('a', ''))],
        ['ASSISTANT calls a {}', `TOOL answers a ${EMPTY_RESULT}`],
        [/^the result of call a is empty/],
      ],
      [
        'leaves out what stands in the wrong place',
        [user(text('hi'), call('a')), tool(text('psst')), model(call('b'), result('b'))],
        ['USER hi', 'ASSISTANT calls b {}', 'TOOL answers b found'],
        [
          /^1 results stood apart/,
          /^message 1 holds a part that does not belong/,
          /^message 2 is a tool's and holds 1 parts that are no result/,
        ],
      ],
    ];

  it.each(cases)('%s', (_, history, expected, sentences) => {
    const { messages, repairs } = repairHistory(history);
    expect(shown(messages)).toEqual(expected);
    expect(repairs).toHaveLength(sentences.length);
    for (const [at, sentence] of sentences.entries()) expect(repairs[at]).toMatch(sentence);
  });

  it('takes the end of a call from the record where the conversation holds none', () => {
    const ended = { case: 'error' as const, value: failure('cancelled', 'somebody stopped it') };
    const { messages, repairs } = repairHistory([model(call('a'))], new Map([['a', ended]]));
    expect(messages[1]?.parts[0]?.kind.value).toMatchObject({ callId: 'a', outcome: ended });
    expect(repairs).toEqual(['call a had no result, and got the one on record']);
  });

  it('says at most so many sentences, and how many more there are', () => {
    const { repairs } = repairHistory(Array.from({ length: 200 }, () => model()));
    expect(repairs).toHaveLength(MAX_HISTORY_REPAIRS);
    expect(repairs.at(-1)).toBe(`${200 - MAX_HISTORY_REPAIRS + 1} more of the kind`);
  });
});

describe('1.10: arguments', () => {
  it.each([
    ['', '{}'],
    ['{"a":', '{}'],
    ['[1]', '{}'],
    ['null', '{}'],
    ['"{}"', '{}'],
    ['```json\n{}\n```', '{}'],
    ['{"a":"\\ud800"}', '{}'],
    ['{ "a" : 1.0, "b": 123456789012345678901 }', '{ "a" : 1.0, "b": 123456789012345678901 }'],
    ['{"a":"\\ud83d\\ude00 \\\\ud800"}', '{"a":"\\ud83d\\ude00 \\\\ud800"}'],
  ])('%s is sent as %s, and the record keeps it', (given, sent) => {
    const history = [model(call('a', given)), tool(result('a'))];
    const { messages, repairs } = repairHistory(history);
    expect(shown(messages)[0]).toBe(`ASSISTANT calls a ${sent}`);
    expect(repairs).toHaveLength(given === sent ? 0 : 1);
    expect(shown(history)[0]).toBe(`ASSISTANT calls a ${given}`);
    expect(repairs.join()).not.toContain('"a"');
  });
});

describe('3.4: results', () => {
  it('that are longer than a model can use are cut between two characters, with a reference', () => {
    const { messages, repairs } = repairHistory([
      model(call('a')),
      tool(result('a', `x${'é'.repeat(MAX_INLINE_TEXT_BYTES / 2)}`)),
    ]);
    const [, answer = ''] = shown(messages);
    const [, head = '', reference = ''] = /^TOOL answers a (xé+)\n\n(\[.*\])$/.exec(answer) ?? [];
    expect(Buffer.byteLength(head)).toBe(TEXT_EXCERPT_BYTES - 1);
    expect(reference).toContain(`${MAX_INLINE_TEXT_BYTES + 1} bytes`);
    expect(reference).toContain('call a');
    expect(repairs).toHaveLength(1);
  });

  it('that just fit stay as they are', () => {
    const history = [model(call('a')), tool(result('a', 'é'.repeat(MAX_INLINE_TEXT_BYTES / 2)))];
    expect(repairHistory(history)).toEqual({ messages: history, repairs: [] });
  });
});

describe('6.5: whatever the history', () => {
  const id = fc.constantFrom('', 'a', 'b', 'c', 'a-2', 'call-2');
  const part = fc.oneof(
    fc.constantFrom('', ' ', 'word').map(text),
    fc.tuple(id, fc.constantFrom('{}', '{"a":1}', '', '{', '[]')).map(([callId, args]) => call(callId, args)),
    fc.tuple(id, fc.constantFrom('', 'one', 'two')).map(([callId, said]) => result(callId, said)),
    fc.constant<PartInit>({ kind: { case: 'reasoning', value: { text: 'hm' } } }),
    fc.constant<PartInit>({}),
  );
  const role = fc.constantFrom(
    ...[Role.ASSISTANT, Role.ASSISTANT, Role.TOOL, Role.TOOL, Role.USER, Role.SYSTEM, Role.UNSPECIFIED],
  );
  const histories = fc.array(
    fc.tuple(role, fc.array(part, { maxLength: 4 })).map(([who, parts]) => says(who, ...parts)),
    { maxLength: 8 },
  );

  it('each call is followed directly by its one result, in order, ids differ, arguments are objects', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { messages } = repairHistory(history);
        const seen = new Set<string>();
        let owed: string[] = [];
        for (const { role: who, parts } of messages) {
          expect(parts.length).toBeGreaterThan(0);
          if (who !== Role.TOOL) expect(owed).toEqual([]);
          for (const { kind } of parts) {
            switch (kind.case) {
              case 'toolCall':
                expect(who).toBe(Role.ASSISTANT);
                expect(kind.value.callId).not.toBe('');
                expect(seen).not.toContain(kind.value.callId);
                expect(JSON.parse(kind.value.arguments)).toBeTypeOf('object');
                seen.add(kind.value.callId);
                owed.push(kind.value.callId);
                break;
              case 'toolResult':
                expect(who).toBe(Role.TOOL);
                expect(kind.value.callId).toBe(owed[0]);
                expect(kind.value.outcome.case).toBeDefined();
                owed = owed.slice(1);
                break;
              default:
                expect(who).not.toBe(Role.TOOL);
                expect(kind.case).toBeDefined();
            }
          }
        }
        expect(owed).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('no call is lost, and what was repaired needs no repair', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { messages } = repairHistory(history);
        const calls = (of: readonly ChatMessage[]) =>
          of
            .filter(({ role: who }) => who === Role.ASSISTANT)
            .flatMap(({ parts }) => parts)
            .filter(({ kind }) => kind.case === 'toolCall').length;
        expect(calls(messages)).toBe(calls(history));
        const again = repairHistory(messages);
        expect(again.repairs).toEqual([]);
        expect(again.messages.every((message, at) => message === messages[at])).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('changes nothing in what it was given, and says so wherever it changed something', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const before = structuredClone(history);
        const { messages, repairs } = repairHistory(history);
        expect(history).toEqual(before);
        const same =
          messages.length === history.length &&
          messages.every((message, at) => {
            const other = history[at];
            return other !== undefined && equals(ChatMessageSchema, message, other);
          });
        expect(repairs.length === 0).toBe(same);
      }),
      { numRuns: 2_000 },
    );
  });
});
