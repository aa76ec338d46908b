import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import type { DecisionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import { ChatMessageSchema, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { CreateSessionRequestSchema } from '../../../gen/spindle/v1/session_service_pb.ts';
import {
  MAX_ACTIONS,
  MAX_CALLS_PER_RESPONSE,
  MAX_CHAT_MESSAGE_BYTES,
  MAX_FOLLOWERS,
  MAX_ID_CHARS,
  MAX_JSON_FIELD_BYTES,
  MAX_LABEL_CHARS,
  MAX_MESSAGES_PER_INPUT,
  MAX_METADATA_BYTES,
  MAX_METADATA_ENTRIES,
  MAX_PAGE_SIZE,
  MAX_QUEUED_TURNS,
  MAX_SESSION_MESSAGES,
  MAX_TOOLS_PER_AGENT,
} from '../../../src/core/limits.ts';
import { CALLER } from '../virtual.ts';
import { type LoopWorld, loopWorld, SESSION, textPart } from './loop-world.ts';

type DecisionInit = Exclude<MessageInitShape<typeof DecisionSchema>, { readonly $typeName: string }>;

/** A session whose only turn waits for a call that nobody answers. */
async function busy(): Promise<LoopWorld> {
  const world = await loopWorld([{ calls: [{ id: 'a', name: 'wait', arguments: {} }] }]);
  await world.worker(
    { instanceId: 'w', streamNumber: 1, tools: [{ tool: { name: 'wait' } }] },
    () => undefined,
  );
  await world.start();
  await world.say('Wait.');
  return world;
}

async function quiet(): Promise<LoopWorld> {
  const world = await loopWorld(['Hello.']);
  await world.start({ useTools: [] });
  return world;
}

const REFUSED = (reason: string, message: RegExp) => ({
  ok: false,
  refusal: { reason, message: expect.stringMatching(message) },
});

/** A message of exactly so many bytes. */
function messageOf(bytes: number) {
  const sizeOf = (text: string) =>
    toBinary(ChatMessageSchema, create(ChatMessageSchema, { role: Role.USER, parts: [textPart(text)] }))
      .byteLength;
  const frame = sizeOf('x'.repeat(bytes)) - bytes;
  const message = { role: Role.USER, parts: [textPart('x'.repeat(bytes - frame))] };
  expect(toBinary(ChatMessageSchema, create(ChatMessageSchema, message)).byteLength).toBe(bytes);
  return message;
}

describe('input of clients', () => {
  const say = async (messages: MessageInitShape<typeof ChatMessageSchema>[]) =>
    (await quiet()).say('', {
      input: { kind: { case: 'messages', value: { messages: messages as never } } },
    });

  it('3.4: has messages up to their size, and no larger', async () => {
    expect(await say([messageOf(MAX_CHAT_MESSAGE_BYTES)])).toMatchObject({ ok: true });
    expect(await say([messageOf(MAX_CHAT_MESSAGE_BYTES + 1)])).toMatchObject(
      REFUSED('invalid_request', /input\.messages\[0\] is larger than/),
    );
  });

  it('has as many messages as one input may, and no more', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, () => ({ role: Role.USER, parts: [textPart('x')] }));
    expect(await say(many(MAX_MESSAGES_PER_INPUT))).toMatchObject({ ok: true });
    expect(await say(many(MAX_MESSAGES_PER_INPUT + 1))).toMatchObject(
      REFUSED('invalid_request', /at most 1000/),
    );
  });

  it('has client tools up to the limit of an agent', async () => {
    const world = await quiet();
    const tools = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `t${index}` }));
    const input = (count: number) => ({
      input: {
        kind: {
          case: 'messages' as const,
          value: { messages: [{ role: Role.USER, parts: [textPart('x')] }], clientTools: tools(count) },
        },
      },
    });
    expect(await world.say('', input(MAX_TOOLS_PER_AGENT + 1))).toMatchObject(
      REFUSED('invalid_request', /client_tools has 501/),
    );
    expect(await world.say('', input(MAX_TOOLS_PER_AGENT))).toMatchObject({ ok: true });
    expect(world.requests[0]?.tools).toHaveLength(MAX_TOOLS_PER_AGENT);
  });

  it('names actions, turns and messages within bounds', async () => {
    const world = await quiet();
    const action = (name: string) => ({ input: { kind: { case: 'action' as const, value: { name } } } });
    expect(await world.say('', action(''))).toMatchObject(REFUSED('invalid_request', /action\.name/));
    expect(await world.say('', action('x'.repeat(MAX_LABEL_CHARS + 1)))).toMatchObject({ ok: false });
    expect(await world.say('x', { turnId: 'x'.repeat(MAX_ID_CHARS + 1) })).toMatchObject(
      REFUSED('invalid_request', /turn_id/),
    );
    expect(await say([{ ...messageOf(100), id: 'x'.repeat(MAX_ID_CHARS + 1) }])).toMatchObject(
      REFUSED('invalid_request', /\.id is longer/),
    );
    expect(await world.say('', action('x'.repeat(MAX_LABEL_CHARS)))).toMatchObject({ ok: true });
  });

  it('6.14: waits behind a running turn up to the limit, and no longer', async () => {
    const world = await busy();
    for (let index = 0; index < MAX_QUEUED_TURNS; index += 1)
      expect(await world.say('x', { turnId: `queued-${index}`, queue: true })).toMatchObject({ ok: true });
    expect(await world.say('x', { turnId: 'too-many', queue: true })).toMatchObject(
      REFUSED('overloaded', /64 turns wait/),
    );
    expect(await world.say('x', { turnId: 'queued-0', queue: true })).toMatchObject({
      ok: true,
      value: { existing: true, queued: true },
    });
  });

  it('fills a conversation up to its limit, and is refused beyond it before a turn starts', async () => {
    const world = await loopWorld(Array.from({ length: 12 }, () => 'Hm.'));
    await world.start({ useTools: [] });
    const input = (count: number) => ({
      input: {
        kind: {
          case: 'messages' as const,
          value: {
            messages: Array.from({ length: count }, () => ({ role: Role.USER, parts: [textPart('x')] })),
          },
        },
      },
    });
    for (let index = 0; index < 9; index += 1)
      await world.say('', { turnId: `t${index}`, ...input(MAX_MESSAGES_PER_INPUT) });
    const room = MAX_SESSION_MESSAGES - ((await world.session()).conversation?.messages.length ?? 0);
    expect(room).toBe(MAX_MESSAGES_PER_INPUT - 9);
    expect(await world.say('', { turnId: 'over', ...input(room + 1) })).toMatchObject(
      REFUSED('invalid_request', /more than 10000 messages/),
    );
    expect(await world.ended('over')).toBeUndefined();
    expect(await world.say('', { turnId: 'last', ...input(room - 1) })).toMatchObject({ ok: true });
    expect(await world.ended('last')).toMatchObject({ case: 'finished' });
  });
});

describe('sessions', () => {
  const created = async (metadata: Record<string, string>) => {
    const { engine } = await quiet();
    const request = create(CreateSessionRequestSchema, {
      agentId: 'agent',
      agent: { model: 'scripted/test' },
      metadata,
    });
    return engine.engine.conversations.create(CALLER, request);
  };

  it('have metadata up to its limits, and no more', async () => {
    const entries = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, '']));
    expect(await created(entries(MAX_METADATA_ENTRIES))).toMatchObject({ ok: true });
    expect(await created(entries(MAX_METADATA_ENTRIES + 1))).toMatchObject(
      REFUSED('invalid_request', /65 entries/),
    );
    expect(await created({ k: 'x'.repeat(MAX_METADATA_BYTES - 1) })).toMatchObject({ ok: true });
    expect(await created({ k: 'x'.repeat(MAX_METADATA_BYTES) })).toMatchObject(
      REFUSED('invalid_request', /metadata is larger/),
    );
  });

  it('are watched by as many as may, and by no more', async () => {
    const { engine } = await quiet();
    const follow = () =>
      engine.engine.conversations.follow(CALLER, SESSION, 0, {
        events: () => undefined,
        delta: () => undefined,
        lost: () => undefined,
      });
    const stops: (() => void)[] = [];
    for (let index = 0; index < MAX_FOLLOWERS; index += 1) {
      const followed = await follow();
      stops.push(followed.ok ? followed.value : () => expect.fail('refused'));
    }
    expect(await follow()).toMatchObject(REFUSED('overloaded', /64 watchers/));
    for (const stop of stops) stop();
    expect(await follow()).toMatchObject({ ok: true });
  });

  it('are listed in pages up to the limit', async () => {
    const { engine } = await quiet();
    const list = (pageSize: number) =>
      engine.engine.conversations.list(CALLER, {
        $typeName: 'spindle.v1.ListSessionsRequest',
        pageSize,
        pageToken: '',
        onlyWaiting: false,
      });
    expect(await list(MAX_PAGE_SIZE)).toMatchObject({ ok: true });
    expect(await list(MAX_PAGE_SIZE + 1)).toMatchObject(REFUSED('invalid_request', /page_size/));
  });
});

describe('decisions', () => {
  /** What becomes of the first decision on a model's answer; undefined where it holds. */
  const decided = async (decision: DecisionInit): Promise<string | undefined> => {
    const world = await loopWorld(['Hello.']);
    const stream = await world.worker(
      {
        instanceId: 'd',
        streamNumber: 1,
        agents: [{ agentId: 'agent', triggers: ['model.finished'] }],
      },
      () => undefined,
    );
    await world.start({ useTools: [] });
    await world.say('Hello?');
    const dispatch = stream.dispatches().at(-1);
    expect(dispatch?.trigger?.kind.case).toBe('modelFinished');
    await stream.answer(dispatch?.leaseToken ?? '', { case: 'decision', value: decision });
    await world.engine.advance(0);
    const [refused] = (await world.log()).flatMap(({ kind }) =>
      kind.case === 'decisionRefused' ? [kind.value.reason] : [],
    );
    const recorded = (await world.log()).some(
      ({ kind }) => kind.case === 'decisionRecorded' && kind.value.workerName !== '',
    );
    expect(recorded).toBe(refused === undefined);
    return refused;
  };
  const calls = (count: number): DecisionInit => ({
    actions: Array.from({ length: count }, () => ({
      kind: { case: 'toolCall' as const, value: { name: 'nothing', arguments: '{}' } },
    })),
  });

  it('3.4, 6.16: bring state up to its size, in bytes', async () => {
    const state = (bytes: number) => ({ stateJson: `"${'é'.repeat((bytes - 2) / 2)}"` });
    expect(await decided(state(MAX_JSON_FIELD_BYTES))).toBeUndefined();
    expect(await decided(state(MAX_JSON_FIELD_BYTES + 2))).toMatch(/state_json is longer than/);
  });

  it('6.16: bring messages up to their size, also such as are sent in place of the conversation', async () => {
    const sent = (bytes: number): DecisionInit => ({
      actions: [{ kind: { case: 'modelCall', value: { messages: [messageOf(bytes)] } } }],
    });
    expect(await decided({ messages: [messageOf(MAX_CHAT_MESSAGE_BYTES)] })).toBeUndefined();
    expect(await decided({ messages: [messageOf(MAX_CHAT_MESSAGE_BYTES + 1)] })).toMatch(/messages\[0\] is/);
    expect(await decided(sent(MAX_CHAT_MESSAGE_BYTES))).toBeUndefined();
    expect(await decided(sent(MAX_CHAT_MESSAGE_BYTES + 1))).toMatch(/model_call\.messages\[0\] is larger/);
  });

  it('6.16: are no larger than an event may be', async () => {
    const large = Array.from({ length: 4 }, () => messageOf(MAX_CHAT_MESSAGE_BYTES - 1_000));
    expect(await decided({ messages: large })).toMatch(/it is larger than/);
  });

  it('6.16: have as many actions, and start as many calls, as they may', async () => {
    expect(await decided(calls(MAX_CALLS_PER_RESPONSE))).toBeUndefined();
    expect(await decided(calls(MAX_CALLS_PER_RESPONSE + 1))).toMatch(/129 calls would start/);
    expect(await decided(calls(MAX_ACTIONS + 1))).toMatch(/there are 257 actions/);
  });

  it('3.3: bring pictures, which are in the blob store and not in the log', async () => {
    const image = {
      kind: {
        case: 'image' as const,
        value: {
          source: { case: 'data' as const, value: new Uint8Array(1_000).fill(7) },
          mimeType: 'image/png',
        },
      },
    };
    const message = { role: Role.USER, parts: [{ kind: { case: 'content' as const, value: image } }] };
    const reason = await decided({
      actions: [{ kind: { case: 'modelCall', value: { messages: [message as never] } } }],
    });
    expect(reason).toBeUndefined();
  });
});

/** The model streams each call in a turn of the event loop of its own. */
async function streamed(world: LoopWorld): Promise<void> {
  for (let turns = 0; turns < 2 * MAX_CALLS_PER_RESPONSE; turns += 1) await world.engine.settle();
}

describe('responses of models', () => {
  it('6.7: start as many calls as they may; one with more is no answer', async () => {
    const answer = (count: number) => ({
      calls: Array.from({ length: count }, (_, index) => ({ id: `c${index}`, name: 'none', arguments: {} })),
    });
    const within = await loopWorld([answer(MAX_CALLS_PER_RESPONSE), 'Done.']);
    await within.start({ useTools: [] });
    await within.say('Go.');
    await streamed(within);
    expect(await within.ended()).toMatchObject({ case: 'finished' });
    expect((await within.session()).calls.size).toBe(MAX_CALLS_PER_RESPONSE);

    const beyond = await loopWorld([answer(MAX_CALLS_PER_RESPONSE + 1), 'Done.']);
    await beyond.start({ useTools: [], retry: { model: { maxAttempts: 1 } } });
    await beyond.say('Go.');
    await streamed(beyond);
    expect(await beyond.ended()).toMatchObject({ case: 'failed', value: { code: 'invalid_answer' } });
    expect((await beyond.session()).calls.size).toBe(0);
  });
});
