import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { type SessionEvent, SessionEventSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { timestamp } from '../../../src/core/time.ts';
import type { Evidence, WorkerLife } from './evidence.ts';
import { AGAIN, type Effect, ONCE } from './programs/work.ts';
import { judge } from './verdict.ts';

type Kind = SessionEvent['kind'];

const START = 1_750_000_000_000;
const GRACE_MS = 5_000;
const LOST_AT = START + 10_000;

function event(sequence: number, kind: object, at = START + sequence): SessionEvent {
  const made = create(SessionEventSchema, { sequence, occurredAt: timestamp(at) });
  return Object.assign(made, { kind: kind as Kind, journal: { leaseToken: `lease-${sequence}` } });
}

const requested = (name: string) => ({ case: 'toolCallRequested', value: { name } });
const dispatched = (attempt: number, workerName: string) => ({
  case: 'toolCallDispatched',
  value: { attempt, workerName },
});
const result = (text: string) => ({
  case: 'toolCallFinished',
  value: {
    outcome: { case: 'result', value: { content: [{ kind: { case: 'text', value: { text } } }] } },
  },
});
const UNKNOWN = { code: 'outcome_unknown' };
const lost = { case: 'toolCallFinished', value: { outcome: { case: 'error', value: UNKNOWN } } };
const failedAttempt = { case: 'toolCallAttemptFailed', value: { error: UNKNOWN } };

function effect(tool: string, callId: string, worker: string, attempt = 1): Effect {
  return { tool, callId, idempotencyKey: `key-${callId}`, attempt, worker };
}

/** Three calls of a small storm: one that ended well, one that was lost, and one that was repeated. */
function honest() {
  const logs = new Map([
    ['well', [event(1, requested(ONCE)), event(2, dispatched(1, 'w1')), event(3, result('1 key-well'))]],
    ['lost', [event(1, requested(ONCE)), event(2, dispatched(1, 'w2')), event(3, lost, LOST_AT)]],
    [
      'again',
      [
        event(1, requested(AGAIN)),
        event(2, dispatched(1, 'w2')),
        event(3, failedAttempt, LOST_AT),
        event(4, dispatched(2, 'w1'), LOST_AT + 1),
        event(5, result('3 key-again'), LOST_AT + 2),
      ],
    ],
  ]);
  const ends = new Map([
    ['well', 'result 1 key-well'],
    ['lost', 'error outcome_unknown'],
    ['again', 'result 3 key-again'],
  ]);
  const workers = new Map<string, WorkerLife>([
    ['w1', { name: 'w1', connectedAt: [START], killedAt: undefined }],
    ['w2', { name: 'w2', connectedAt: [START], killedAt: START + 100 }],
  ]);
  return {
    asked: ['well', 'lost', 'again'],
    logs,
    effects: [
      effect(ONCE, 'well', 'w1'),
      effect(ONCE, 'lost', 'w2'),
      effect(AGAIN, 'again', 'w2'),
      effect(AGAIN, 'again', 'w1', 2),
    ],
    seen: new Map([...ends].map(([callId, end]) => [callId, [end]])),
    listed: new Map<string, string | undefined>(ends),
    got: new Map<string, string | undefined>(ends),
    workers,
    engines: [{ launchedAt: START - 1 }],
    resumeGraceMs: GRACE_MS,
  } satisfies Evidence;
}

type Honest = ReturnType<typeof honest>;

/** What each lie is, and a part of what the verdict says of it. */
const LIES: readonly (readonly [string, (evidence: Honest) => void, string])[] = [
  ['a call is missing', ({ logs }) => logs.delete('well'), 'the journal does not know it'],
  ['a call was never made', ({ logs }) => logs.set('more', []), 'a call that nobody made'],
  ['a call has no end', ({ logs }) => logs.get('well')?.pop(), 'it has 0 ends'],
  ['a call has two ends', ({ logs }) => logs.get('well')?.push(event(4, lost, LOST_AT)), 'it has 2 ends'],
  ['an event is missing', ({ logs }) => logs.get('again')?.splice(2, 1), 'its log has a gap'],
  [
    'time goes back',
    ({ logs }) => logs.get('well')?.splice(2, 1, event(3, result('1 key-well'), START)),
    'its time goes back',
  ],
  [
    'something follows an end',
    ({ logs }) => logs.get('well')?.push(event(4, dispatched(1, 'w1'))),
    'something follows its end',
  ],
  ['a caller saw nothing', ({ seen }) => seen.delete('lost'), 'its caller saw nothing'],
  [
    'a caller saw another end',
    ({ seen }) => seen.set('lost', ['result 2 key-lost']),
    'its caller saw result',
  ],
  ['ListCalls tells another end', ({ listed }) => listed.set('well', undefined), 'ListCalls says undefined'],
  [
    'GetCall tells another end',
    ({ got }) => got.set('well', 'error internal'),
    'GetCall says error internal',
  ],
  ['a call ran twice', ({ effects }) => effects.push(effect(ONCE, 'well', 'w1')), 'it ran 2 times'],
  [
    'an attempt ran twice where it was dispatched once',
    ({ effects }) => effects.push(effect(AGAIN, 'again', 'w1', 2)),
    'w1 ran attempt 2 2 times, and had it 1 times',
  ],
  [
    'a worker ran what it was not given',
    ({ effects }) => effects.splice(0, 1, effect(ONCE, 'well', 'w2')),
    'w2 ran attempt 1 1 times, and had it 0 times',
  ],
  ['a result has no effect', ({ effects }) => effects.shift(), 'no such effect is known'],
  [
    'a key names two calls',
    ({ effects }) => effects.splice(0, 1, { ...effect(ONCE, 'well', 'w1'), idempotencyKey: 'key-lost' }),
    'the key names two calls',
  ],
  [
    'a call has two keys',
    ({ effects }) => effects.splice(2, 1, { ...effect(AGAIN, 'again', 'w2'), idempotencyKey: 'other' }),
    'it has two idempotency keys',
  ],
  [
    'a worker that lived was given up',
    ({ workers }) => workers.set('w2', { name: 'w2', connectedAt: [START], killedAt: undefined }),
    'w2, which lived and was connected',
  ],
  [
    'a worker was given up too soon',
    ({ engines }) => engines.push({ launchedAt: LOST_AT - GRACE_MS + 1_000 }),
    'given up 1000 ms before its grace was over',
  ],
  [
    'a repeatable call ended as unknown',
    ({ logs }) => {
      const [request, dispatch] = logs.get('again') ?? [];
      if (request !== undefined && dispatch !== undefined)
        logs.set('again', [request, dispatch, event(3, lost, LOST_AT)]);
    },
    'it is safe to repeat, and ended with outcome_unknown',
  ],
];

describe('the verdict on a storm', () => {
  it('finds nothing where everything holds', () => {
    expect(judge(honest())).toEqual([]);
  });

  it.each(LIES)('notices when %s', (_, tell, expected) => {
    const evidence = honest();
    tell(evidence);
    expect(judge(evidence).join('\n')).toContain(expected);
  });
});
