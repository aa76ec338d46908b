import { type Mutation, mutation } from './mutation.ts';

const ANSWER = 'src/core/answer.ts';

/** Rules of section 4, and the worker's side of section 5. */
export const CALLS: readonly Mutation[] = [
  mutation(
    '4.3',
    'charges a requeue as an attempt',
    'src/core/evolve.ts',
    '    requeues: call.requeues + 1,\n',
    '    requeues: call.requeues + 1,\n    attempt: call.attempt + 1,\n',
  ),
  mutation(
    '4.5',
    'accepts an answer after the end',
    ANSWER,
    "    case 'given_up':\n      return answerLate(",
    "    case 'given_up':\n      return answerRunning(",
  ),
  mutation(
    '4.5',
    'forgets a result that came before the next dispatch',
    ANSWER,
    "const newest = lastLease(call) === lease && call.phase.kind === 'waiting';",
    "const newest = lastLease(call) === lease && call.phase.kind === 'interrupted';",
  ),
  mutation(
    '4.3',
    'takes an answer from any worker',
    ANSWER,
    'if (lease.instanceId !== command.instanceId)',
    'if (lease.token !== command.leaseToken)',
  ),
  {
    rule: '4.5',
    name: 'ends a call twice when a settlement and an answer meet',
    edits: [
      {
        file: 'src/core/settle.ts',
        find: "if (call.phase.kind === 'finished') {",
        replace: "if (call.phase.kind === 'finished' && attempt !== 0) {",
      },
      {
        file: 'src/core/settle.ts',
        find: "if (call.phase.kind !== 'dispatched' && call.phase.kind !== 'open')",
        replace: "if (call.phase.kind === 'waiting' || call.phase.kind === 'interrupted')",
      },
    ],
  },
  mutation(
    '4.2',
    'retries an unsafe tool after a lost worker',
    'src/core/lease.ts',
    'const end = { failure: error, retryable: call.safeToRepeat, answered: false };',
    'const end = { failure: error, retryable: true, answered: false };',
  ),
  mutation(
    '4.2',
    'retries an unsafe tool after a run timeout',
    'src/core/timers.ts',
    'retryable: call.safeToRepeat, answered: false',
    'retryable: true, answered: false',
  ),
  mutation(
    '4.2',
    'allows one attempt too many',
    'src/core/attempt.ts',
    'call.attempt >= call.policy.maxAttempts',
    'call.attempt > call.policy.maxAttempts',
  ),
  {
    rule: '4.4',
    name: 'measures progress by the clock, and not in the time of its session',
    edits: [
      {
        file: 'src/engine/effects.ts',
        find: 'timeIn(runner.session, clock.now())',
        replace: 'clock.now()',
      },
      {
        file: 'src/engine/worker-events.ts',
        find: 'timeIn(runner.session, clock.now())',
        replace: 'clock.now()',
      },
    ],
  },
  mutation(
    '4.6',
    'hides that a lost call may have taken effect',
    'src/core/attempt.ts',
    ', { mayHaveTakenEffect: true });',
    ');',
  ),
  mutation(
    '4.7',
    'makes a new idempotency key for each attempt',
    'src/engine/effects.ts',
    'idempotencyKey: idempotencyKey(runner.key, call),',
    'idempotencyKey: idempotencyKey(runner.key, call) + call.attempt,',
  ),
  mutation(
    '5.7',
    'drops an unacknowledged answer at the reconnect',
    'src/sdk/worker/protocol.ts',
    'for (const [leaseToken, outcome] of leases.unacknowledged()) {',
    'for (const [leaseToken, outcome] of leases.unacknowledged().slice(1)) {',
  ),
  mutation(
    '5.5',
    'names nothing that it holds in a hello',
    'src/sdk/worker/protocol.ts',
    'held: leases.held(),',
    'held: [],',
  ),
];
