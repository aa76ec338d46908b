import { type Mutation, mutation } from './mutation.ts';

const ADVANCE = 'src/core/loop/advance.ts';
const FAULT = 'src/core/loop/decision-fault.ts';
const ORDER = 'src/core/loop/order.ts';
const PROPOSE = 'src/core/loop/propose.ts';
const EVOLVE = 'src/core/loop/evolve-conversation.ts';
const ASKED = 'if (trigger.askedAt !== undefined || pausing(conversation) !== undefined) return story;';

/** Rules of section 6: whole turns. */
export const TURNS: readonly Mutation[] = [
  mutation(
    '5.13',
    'applies the proposal while a decider is asked',
    ADVANCE,
    ASKED,
    `if (pausing(conversation) !== undefined) return story;
    if (trigger.askedAt !== undefined) {
      story = applyProposal(story, trigger);
      continue;
    }`,
  ),
  mutation(
    '6.11',
    'decides while the turn is paused',
    ADVANCE,
    ASKED,
    'if (trigger.askedAt !== undefined) return story;',
  ),
  {
    ...mutation(
      '5.13',
      'accepts a decision for another trigger',
      'src/core/loop/decide-conversation.ts',
      'if (trigger?.decisionId !== decisionId || trigger.askedAt === undefined)',
      'if (trigger?.askedAt === undefined)',
    ),
    rarity: 8,
  },
  {
    rule: '6.1',
    name: 'calls the model before every call has ended',
    edits: [
      {
        file: PROPOSE,
        find: "if (turn.plan.some(({ state }) => state !== 'ended')) return { kind: 'wait' };",
        replace: "if (turn.plan.some(({ state }) => state === 'planned')) return { kind: 'wait' };",
      },
      {
        file: FAULT,
        find: "turn.plan.find(({ callId, state }) => state !== 'ended' && !endedHere.has(callId));",
        replace: "turn.plan.find(({ callId, state }) => state === 'planned' && !endedHere.has(callId));",
      },
    ],
  },
  {
    rule: '6.1',
    name: 'calls the model while its last response is to be decided',
    edits: [
      {
        file: PROPOSE,
        find: " || kind === 'model.finished';",
        replace: ';',
      },
      {
        file: FAULT,
        find: "cause.kind === 'model.finished' && decisionId",
        replace: "cause.kind === 'session.start' && decisionId",
      },
    ],
  },
  mutation(
    '6.2',
    'lets a sequential call start beside those before it',
    ORDER,
    'if (sequential || calls.get(earlier.callId)?.sequential === true) return true;',
    'if (calls.get(earlier.callId)?.sequential === true) return true;',
  ),
  mutation(
    '6.2',
    'lets calls start beside a sequential one',
    ORDER,
    'if (sequential || calls.get(earlier.callId)?.sequential === true) return true;',
    'if (sequential) return true;',
  ),
  mutation(
    '6.2',
    'releases every call that waits when one has ended',
    ORDER,
    "if (call?.phase.kind !== 'held' || isHeldBack(session, call)) continue;",
    "if (call?.phase.kind !== 'held') continue;",
  ),
  mutation(
    '6.3',
    'finds the calls of a response in the tool set of an earlier iteration',
    EVOLVE,
    '        ...turn,\n        toolSetDigest,\n',
    '        ...turn,\n        toolSetDigest: turn.toolSetDigest || toolSetDigest,\n',
  ),
  mutation(
    '6.5',
    'sends a model calls without results',
    'src/core/loop/request.ts',
    'const { messages: repaired, repairs } = repairHistory(inCallOrder(messages), outcomes);',
    'const { messages: repaired, repairs } = { messages: inCallOrder(messages), repairs: [] as string[] };',
  ),
  mutation(
    '6.5',
    'keeps the call ids that a provider repeats',
    'src/core/loop/model-call.ts',
    "callId !== '' && callId.length <= MAX_ID_CHARS && !used.has(callId) && !session.calls.has(callId);",
    "callId !== '' && callId.length <= MAX_ID_CHARS;",
  ),
  mutation(
    '6.10',
    'starts a child anew each time that its parent is taken up',
    'src/engine/loop/children.ts',
    '.update(JSON.stringify([parent, callId]))',
    '.update(JSON.stringify([parent, callId, performance.now()]))',
  ),
  mutation(
    '6.11',
    'answers an interrupt twice',
    'src/core/loop/interrupts.ts',
    '  if (!waiting.isOpen) return NOTHING;\n',
    '',
  ),
  mutation(
    '6.11',
    'runs a resumed call without the answer to its interrupt',
    'src/engine/dispatch.ts',
    'resumed: call.resumed,',
    'resumed: undefined,',
  ),
  mutation(
    '6.14',
    'drops queued turns at a restart',
    'src/engine/sessions.ts',
    'return session.sequence === 0 ? undefined : { session, events };',
    'const { conversation } = session; if (conversation !== undefined) session = { ...session, conversation: { ...conversation, queue: [] } }; return session.sequence === 0 ? undefined : { session, events };',
  ),
  {
    ...mutation(
      '6.14',
      'leaves a queued turn behind a start that nobody decides',
      ADVANCE,
      'if (conversation.turn === undefined && waiting !== undefined) {',
      'if (conversation.turn === undefined && waiting !== undefined && trigger === undefined) {',
    ),
    rarity: 8,
  },
  {
    rule: '6.14',
    name: 'starts a turn again for a turn id that is known',
    edits: [
      {
        file: 'src/core/loop/turn.ts',
        find: 'if (conversation.turns.has(turnId)) return NOTHING;',
        replace: '',
      },
      {
        file: 'src/core/loop/decide-conversation.ts',
        find: 'if (session.conversation?.turns.has(command.turnId)) return NOTHING;',
        replace: '',
      },
    ],
  },
  mutation(
    '6.1',
    'forgets the configuration of a session whose first append failed',
    'src/engine/loop/conversations.ts',
    'existing !== undefined && existing.session.sequence > 0;',
    'existing !== undefined;',
  ),
  {
    ...mutation(
      '6.1',
      'starts the calls of a response though the turn is done',
      PROPOSE,
      'if (turn?.finishing !== undefined) return create(DecisionSchema, { messages: [message] });',
      '',
    ),
    rarity: 8,
  },
  {
    ...mutation(
      '7.4',
      'fails a turn whose tools find no room on the disk for a while',
      'src/engine/loop/iterations.ts',
      'if (hasNoRoom(error)) {',
      'if (hasNoRoom(undefined)) {',
    ),
    rarity: 8,
  },
  mutation(
    '4.10',
    'leaves the calls of a cancelled turn to themselves',
    'src/core/loop/turn.ts',
    'return happened(...cancelledCalls(session, reason), ended);',
    'return happened(ended);',
  ),
  mutation(
    '7.1',
    'leaves out of a watch what happens while the journal is read',
    'src/engine/loop/follow.ts',
    '  for (const { events, session } of behind) pass(events, session);\n',
    '',
  ),
  mutation(
    '7.1',
    'makes a model call before its request is durable',
    'src/engine/session-runner.ts',
    '    this.#appending = true;\n    const head',
    "    this.#appending = true;\n    if (session.conversation?.turn?.model?.kind === 'calling') {\n      this.session = session;\n      this.#perform();\n    }\n    const head",
  ),
];
