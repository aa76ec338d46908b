import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Role } from '../../gen/spindle/v1/message_pb.ts';
import { FinishReason, type ModelResponse } from '../../gen/spindle/v1/trigger_pb.ts';
import type { ModelAnswer } from '../../src/engine/ports.ts';
import { createScriptedModel, openScript } from '../../src/models/scripted.ts';
import { modelCall } from './model-call.ts';

const user = (text: string) => ({
  role: Role.USER,
  parts: [
    { kind: { case: 'content' as const, value: { kind: { case: 'text' as const, value: { text } } } } },
  ],
});

function responseOf(answer: ModelAnswer): ModelResponse {
  if (answer.kind !== 'response') throw new Error(`failed: ${answer.failure.code} ${answer.failure.message}`);
  return answer.response;
}

function failureOf(answer: ModelAnswer) {
  if (answer.kind !== 'failure') throw new Error('expected a failure, and the model answered');
  return answer.failure;
}

function textOf({ message }: ModelResponse): string {
  return (message?.parts ?? [])
    .map(({ kind }) =>
      kind.case === 'content' && kind.value.kind.case === 'text' ? kind.value.kind.value.text : '',
    )
    .join('');
}

function callsOf({ message }: ModelResponse) {
  return (message?.parts ?? []).flatMap(({ kind }) => (kind.case === 'toolCall' ? [kind.value] : []));
}

const request = { model: 'scripted/demo', messages: [user('hello')] };

describe('a scripted model', () => {
  it('gives its answers in order, and says so when there is none left', async () => {
    const model = createScriptedModel({ answers: ['one', { text: 'two' }] });
    expect(textOf(responseOf(await model.call(modelCall(request))))).toBe('one');
    expect(model.left).toBe(1);
    expect(textOf(responseOf(await model.call(modelCall(request))))).toBe('two');
    const over = failureOf(await model.call(modelCall(request)));
    expect(over).toMatchObject({ code: 'provider_error', retryable: false });
    expect(over.message).toContain('2 answers');
  });

  it.each([
    ['repeat' as const, ['a', 'b', 'b', 'b']],
    ['again' as const, ['a', 'b', 'a', 'b']],
  ])('goes on after the last answer as told: %s', async (after, said) => {
    const model = createScriptedModel({ answers: ['a', 'b'], after });
    const answers = [];
    for (const _ of said) answers.push(textOf(responseOf(await model.call(modelCall(request)))));
    expect(answers).toEqual(said);
  });

  it('finds its place by the conversation, so that sessions do not disturb each other', async () => {
    const model = createScriptedModel({ answers: ['first', 'second'], position: 'conversation' });
    const later = { ...request, messages: [user('hello'), { role: Role.ASSISTANT }, user('go on')] };
    for (const _ of [1, 2]) {
      expect(textOf(responseOf(await model.call(modelCall(later))))).toBe('second');
      expect(textOf(responseOf(await model.call(modelCall(request))))).toBe('first');
    }
  });

  it.each(['order' as const, 'conversation' as const])(
    'gives each attempt its own answer: by %s',
    async (position) => {
      const model = createScriptedModel({ answers: [[{ fail: { retryable: true } }, 'at last']], position });
      expect(failureOf(await model.call(modelCall(request, { attempt: 1 }))).retryable).toBe(true);
      for (const attempt of [2, 3]) {
        expect(textOf(responseOf(await model.call(modelCall(request, { attempt }))))).toBe('at last');
      }
    },
  );

  it('1.10: gives the arguments byte for byte, broken ones as well', async () => {
    const model = createScriptedModel({
      answers: [
        {
          calls: [
            { name: 'a', arguments: '{"x": 1.0, ' },
            { name: 'b', arguments: { n: 1 } },
          ],
        },
      ],
    });
    const response = responseOf(await model.call(modelCall(request)));
    expect(callsOf(response).map((call) => call.arguments)).toEqual(['{"x": 1.0, ', '{"n":1}']);
    expect(response.finishReason).toBe(FinishReason.TOOL_CALLS);
  });

  it('6.5: makes calls with ids that are missing or used twice where the script says so, and else its own', async () => {
    const script = {
      answers: [
        {
          calls: [
            { id: '', name: 'a', arguments: '{}' },
            { id: 'same', name: 'a', arguments: '{}' },
            { id: 'same', name: 'a', arguments: '{}' },
            { name: 'a', arguments: '{}' },
            { name: 'a', arguments: '{}' },
          ],
        },
      ],
    };
    const ids = async (callId: string) =>
      callsOf(responseOf(await createScriptedModel(script).call(modelCall(request, { callId })))).map(
        (call) => call.callId,
      );
    const first = await ids('one');
    expect(first.slice(0, 3)).toEqual(['', 'same', 'same']);
    expect(new Set(first).size).toBe(4);
    expect(await ids('one')).toEqual(first);
    expect((await ids('two')).at(-1)).not.toBe(first.at(-1));
  });

  it('streams reasoning, text and calls, and the text as the script cuts it', async () => {
    const model = createScriptedModel({
      answers: [
        { reasoning: 'so be it', deltas: ['He', 'llo'], calls: [{ name: 'a', arguments: '{}' }] },
        'word by word',
      ],
    });
    const call = modelCall(request);
    expect(textOf(responseOf(await model.call(call)))).toBe('Hello');
    expect(call.deltas.map(({ kind }) => kind.case)).toEqual([
      'reasoning',
      'reasoning',
      'reasoning',
      'text',
      'text',
      'toolCall',
    ]);
    const words = modelCall(request);
    await model.call(words);
    expect(words.deltas.map(({ kind }) => kind.value)).toEqual(['word ', 'by ', 'word']);
  });

  it('reports the finish, the usage and the names that the script gives, and plausible ones else', async () => {
    const model = createScriptedModel({
      answers: [
        {
          text: 'cut',
          finish: 'length',
          usage: { input: 7, output: 3, cached_input: 2, reasoning: 1 },
          response_model: 'demo-2026',
          response_id: 'r1',
        },
        'twelve letters',
      ],
    });
    const first = responseOf(await model.call(modelCall(request)));
    expect(first).toMatchObject({
      finishReason: FinishReason.LENGTH,
      responseModel: 'demo-2026',
      responseId: 'r1',
    });
    expect(first.usage).toMatchObject({
      inputTokens: 7,
      outputTokens: 3,
      cachedInputTokens: 2,
      reasoningTokens: 1,
    });
    const second = responseOf(await model.call(modelCall(request)));
    expect(second).toMatchObject({ finishReason: FinishReason.STOP, responseModel: 'demo' });
    expect(second.usage).toMatchObject({ inputTokens: 2, outputTokens: 4 });
  });

  it('4.2: fails with the code, the retryability and the wait that the script gives', async () => {
    const fail = { code: 'rate_limited', message: 'Slow down.', retryable: true, retry_after_ms: 1_500 };
    const model = createScriptedModel({ answers: [{ fail }] });
    expect(failureOf(await model.call(modelCall(request)))).toMatchObject({
      code: 'rate_limited',
      message: 'Slow down.',
      retryable: true,
      retryAfter: { seconds: 1n, nanos: 500_000_000 },
    });
  });

  it('breaks off a stream half way', async () => {
    const model = createScriptedModel({
      answers: [{ text: 'one two three', break_after: 2, fail: { code: 'provider_error' } }],
    });
    const call = modelCall(request);
    expect(failureOf(await model.call(call)).code).toBe('provider_error');
    expect(call.deltas.map(({ kind }) => kind.value)).toEqual(['one ', 'two ']);
  });

  it.each([
    ['hangs', { hang: true as const }, []],
    ['hangs half way', { text: 'one two', break_after: 1, hang: true as const }, ['one ']],
    ['waits', { text: 'late', delay_ms: 600_000 }, []],
  ])('%s until it is aborted', async (_, answer, streamed) => {
    const stop = new AbortController();
    const call = modelCall(request, { signal: stop.signal });
    const settled = createScriptedModel({ answers: [answer] }).call(call);
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    expect(await Promise.race([settled, 'still running'])).toBe('still running');
    stop.abort();
    expect(failureOf(await settled).code).toBe('cancelled');
    expect(call.deltas.map(({ kind }) => kind.value)).toEqual(streamed);
  });

  it('says what it was sent instead of what it expected', async () => {
    const sent = {
      model: 'scripted/demo',
      messages: [user('weather in Oslo')],
      tools: [{ name: 'weather' }, { name: 'clock' }],
    };
    const met = createScriptedModel({
      answers: [
        {
          text: 'yes',
          expect: { model: 'demo', last: ['Oslo'], messages: ['user: weather'], tools: ['clock', 'weather'] },
        },
      ],
    });
    expect(textOf(responseOf(await met.call(modelCall(sent))))).toBe('yes');
    const unmet = createScriptedModel({
      answers: [
        {
          text: 'no',
          expect: {
            model: 'x',
            system: ['Be brief.'],
            last: ['Lima'],
            messages: ['user: a', 'tool: b'],
            tools: ['clock'],
          },
        },
      ],
    });
    const { message, retryable } = failureOf(await unmet.call(modelCall(sent)));
    expect(retryable).toBe(false);
    expect(message).toBe(
      'call 1 of the script expected the model "x", and was asked as "demo"; "Be brief." in the system message; ' +
        '"Lima" in the last message, which says "weather in Oslo"; 2 messages, and was sent 1; ' +
        'message 2 to be "tool: b", and was sent "nothing"; the tools clock, and was offered clock, weather.',
    );
  });

  it('refuses a script that breaks the form, at once', () => {
    expect(() => createScriptedModel({ answers: [] })).toThrow('answers: expected a list of 1 to');
  });
});

describe('the file of a scripted model', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spindle-script-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function open(name: string, text: string) {
    const path = join(folder, name);
    await writeFile(path, text);
    const opened = await openScript(path);
    return opened.ok
      ? opened
      : { ...opened, problems: opened.problems.map((line) => line.replace(path, name)) };
  }

  it.each([
    ['script.json', '{"answers": ["hello", {"calls": [{"name": "a", "arguments": {"x": 1}}]}]}'],
    ['script.toml', 'answers = ["hello", {calls = [{name = "a", arguments = \'{"x":1}\'}]}]'],
  ])('is JSON or TOML: %s', async (name, text) => {
    const opened = await open(name, text);
    if (!opened.ok) throw new Error(opened.problems.join('\n'));
    expect(textOf(responseOf(await opened.model.call(modelCall(request))))).toBe('hello');
    const second = responseOf(await opened.model.call(modelCall(request)));
    expect(callsOf(second).map((call) => call.arguments)).toEqual(['{"x":1}']);
  });

  it.each([
    ['{"answers": 3}', 'answers: expected a list of 1 to 10000 answers'],
    ['{"answer": []}', 'answers: expected a list of 1 to 10000 answers'],
    ['{"answers": ["a"], "more": 1}', 'more: no such field'],
    ['{"answers": [3]}', 'answers.0: expected a text, an answer, or a list of them, one for each attempt'],
    ['{"answers": [{"txt": "a"}]}', 'answers.0.txt: no such field'],
    [
      '{"answers": [{"calls": [{"name": "a"}]}]}',
      'answers.0.calls.0.arguments: expected the arguments as a text, byte for byte, or an object, which is written as JSON',
    ],
    [
      '{"answers": ["a", {"finish": "done"}]}',
      'answers.1.finish: expected "stop", "tool_calls", "length", "content_filter", "other" or "unspecified"',
    ],
    [
      '{"answers": [["a", {"usage": {"input": -1}}]]}',
      'answers.0.1.usage.input: expected a number of tokens: an integer from 0',
    ],
    [
      '{"answers": [{"text": "a", "break_after": 1}]}',
      'answers.0.break_after: expected "fail" or "hang" beside it, which says how the stream ends',
    ],
    ['{"answers": [{"fail": {}, "hang": true}]}', 'answers.0.hang: expected either "fail" or "hang"'],
    [
      '{"answers": [{"text": "ab", "deltas": ["a"]}]}',
      'answers.0.deltas: expected texts that together are "text"; leave "text" out to have it made of them',
    ],
    ['{"answers": ["a"], "after": "stop"}', 'after: expected "fail", "repeat" or "again"'],
    [
      '{"answers": [{"expect": {"messages": ["hello"]}}]}',
      'answers.0.expect.messages.0: expected a role and a colon, as in "user: weather in Oslo"',
    ],
  ])('names the place of what is wrong: %s', async (text, problem) => {
    const opened = await open('wrong.json', text);
    expect(opened).toMatchObject({ ok: false });
    expect(opened.ok ? [] : opened.problems).toContain(`wrong.json: ${problem}`);
  });

  it('says that it cannot be read', async () => {
    const missing = await openScript(join(folder, 'none.json'));
    expect(missing.ok ? '' : missing.problems.join()).toContain('the script cannot be read');
    const broken = await open('broken.toml', 'answers = [');
    expect(broken.ok ? '' : broken.problems.join()).toContain('broken.toml: the script cannot be read');
  });
});
