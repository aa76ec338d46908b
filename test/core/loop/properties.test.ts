import { fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SessionEvent, SessionEventSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { type ChatMessage, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { evolve } from '../../../src/core/evolve.ts';
import { pausing } from '../../../src/core/loop/conversation.ts';
import { callsIn, resultsIn } from '../../../src/core/loop/messages.ts';
import { requestHistory } from '../../../src/core/loop/request.ts';
import { effectName, owed } from '../../../src/core/owed.ts';
import { newSession, type Session } from '../../../src/core/session.ts';
import { type Draw, randomConversation, type World } from './random-conversation.ts';

const world: fc.Arbitrary<World> = fc.record({
  decided: fc.subarray([
    'session.start',
    'client.messages',
    'client.action',
    'tool.finished',
    'model.finished',
    'interrupt.resumed',
    'turn.finished',
    'subagent.finished',
  ] as const),
  required: fc.subarray(['tool.finished'] as const),
  fails: fc.boolean(),
  task: fc.boolean(),
});
/** Each number decides something; a conversation ends with them. */
const numbers = fc.noBias(fc.array(fc.nat(2 ** 20), { minLength: 50, maxLength: 800, size: 'max' }));
/** Seeds come and go with the clock; a failure prints its own. */
const RUNS = { numRuns: 300 };

interface Lived {
  readonly conversation: ReturnType<typeof randomConversation>;
  readonly states: readonly Session[];
}

function live(of: World, draws: readonly number[]): Lived {
  const states: Session[] = [];
  const conversation = randomConversation(of, (session) => states.push(session));
  let used = 0;
  const draw: Draw = (choices) => (draws[used++] ?? 0) % choices;
  while (used < draws.length) conversation.step(draw);
  return { conversation, states };
}

/** Which of the invariants of conversation.ts a state breaks; undefined where none. */
function broken(session: Session): string | undefined {
  const { conversation, calls } = session;
  if (conversation === undefined) return 'there is no conversation';
  const { turn, triggers } = conversation;
  if (triggers.some(({ causeSequence }, at) => causeSequence <= (triggers[at - 1]?.causeSequence ?? 0)))
    return '1: triggers are out of order';
  if (triggers.slice(1).some(({ askedAt }) => askedAt !== undefined)) return '1: a later trigger is asked';
  const unended = [...calls.values()].filter(({ phase }) => phase.kind !== 'finished');
  if (turn === undefined) {
    if (triggers.some(({ cause }) => cause.kind !== 'session.start')) return '2: a trigger without a turn';
    if (unended.length > 0) return '2: a call without a turn';
    return [...conversation.interrupts.values()].some(({ state }) => state.kind === 'open')
      ? '2: an interrupt without a turn'
      : undefined;
  }
  const planned = turn.plan.filter(({ state }) => state === 'planned');
  const isIdle =
    triggers.length === 0 && turn.model === undefined && unended.length === 0 && planned.length === 0;
  if (isIdle && pausing(conversation) === undefined) return '3: nothing is owed';
  const strange = turn.plan.find(({ callId, state }) => calls.has(callId) !== (state !== 'planned'));
  if (strange !== undefined) return `4: ${strange.callId} is ${strange.state}`;
  const stray = unended.find(({ callId }) => !turn.plan.some((each) => each.callId === callId));
  return stray === undefined ? undefined : `4: ${stray.callId} is in no plan`;
}

/** What is wrong with the calls and results of a request; undefined where nothing is. */
function unpaired(messages: readonly ChatMessage[]): string | undefined {
  const seen = new Set<string>();
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined || message.role === Role.TOOL) continue;
    const called = callsIn(message).map(({ callId }) => callId);
    const results: string[] = [];
    while (messages[index + 1]?.role === Role.TOOL) {
      index += 1;
      results.push(
        ...((messages[index] ?? message).parts.length > 0
          ? resultsIn(messages[index] ?? message).map(({ callId }) => callId)
          : []),
      );
    }
    if (called.join(' ') !== results.join(' '))
      return `calls ${called.join(' ')} have results ${results.join(' ')}`;
    for (const callId of called) {
      if (callId === '' || seen.has(callId)) return `the call id ${JSON.stringify(callId)} is no name`;
      seen.add(callId);
    }
  }
  return undefined;
}

describe('random conversations', () => {
  it('reach every event, every cause and every way in which a turn ends', () => {
    const reached = new Set<string>();
    fc.assert(
      fc.property(world, numbers, (of, draws) => {
        const { conversation, states } = live(of, draws);
        for (const { kind } of conversation.events) {
          reached.add(kind.case ?? '');
          if (kind.case === 'turnEnded') reached.add(kind.value.outcome.case ?? '');
        }
        for (const state of states)
          for (const { cause } of state.conversation?.triggers ?? []) reached.add(cause.kind);
      }),
      { numRuns: 300, seed: 7 },
    );
    expect([...reached]).toEqual(
      expect.arrayContaining([
        ...['sessionCreated', 'agentUpdated', 'stateUpdated', 'messageRecorded', 'turnQueued', 'turnStarted'],
        ...['iterationStarted', 'decisionRequested', 'decisionRefused', 'decisionRecorded', 'turnEnded'],
        ...['modelCallRequested', 'modelCallAttemptFailed', 'modelCallFinished', 'toolCallRequested'],
        ...['toolCallDispatched', 'toolCallRequeued', 'toolCallDeferred', 'toolCallAttemptFailed'],
        ...['toolCallFinished', 'subagentStarted', 'interruptRaised', 'interruptResumed'],
        ...['finished', 'failed', 'cancelledReason'],
        ...['client.messages', 'client.action', 'tool.finished', 'model.finished', 'subagent.finished'],
        ...['interrupt.resumed', 'turn.finished'],
      ]),
    );
  });

  it('keep the invariants of a conversation in every state', () => {
    fc.assert(
      fc.property(world, numbers, (of, draws) => {
        expect(
          live(of, draws)
            .states.map(broken)
            .filter((each) => each !== undefined),
        ).toEqual([]);
      }),
      RUNS,
    );
  });

  it('6.5: have in every request to a model exactly one result for each call id, behind its call', () => {
    fc.assert(
      fc.property(world, numbers, (of, draws) => {
        const asking = live(of, draws).states.filter(
          ({ conversation }) => conversation?.turn?.model !== undefined,
        );
        const faults = asking.map((session) => unpaired(requestHistory(session).messages));
        expect(faults.filter((each) => each !== undefined)).toEqual([]);
      }),
      RUNS,
    );
  });

  it('7.1: are rebuilt from their logs, and owe the same', () => {
    fc.assert(
      fc.property(world, numbers, (of, draws) => {
        const { conversation } = live(of, draws);
        const read = (event: SessionEvent): SessionEvent =>
          fromBinary(SessionEventSchema, toBinary(SessionEventSchema, event));
        const again = conversation.events.map(read).reduce(evolve, newSession('s'));
        expect(again).toEqual(conversation.session);
        const at = Date.UTC(2031, 0, 1);
        expect(owed(again, at).map(effectName)).toEqual(owed(conversation.session, at).map(effectName));
      }),
      RUNS,
    );
  });

  it('7.1: are never stuck: when all that is asked is answered, every turn has ended', () => {
    fc.assert(
      fc.property(world, numbers, (of, draws) => {
        const { conversation } = live(of, draws);
        expect(conversation.finish(2_000)).toBeTypeOf('number');
      }),
      RUNS,
    );
  });
});
