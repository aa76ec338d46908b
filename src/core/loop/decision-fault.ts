import type {
  Action,
  Decision,
  ToolErrorAction,
  ToolResultAction,
} from '../../../gen/spindle/v1/action_pb.ts';
import { type ChatMessage, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { MAX_ACTIONS, MAX_CALLS_PER_RESPONSE, MAX_ID_CHARS, MAX_SESSION_MESSAGES } from '../limits.ts';
import { policyFault } from '../policy.ts';
import type { Session } from '../session.ts';
import { agentFault, jsonFault, sameConfig } from './agent-config.ts';
import type { Conversation, PendingTrigger } from './conversation.ts';
import { callsIn, resultsIn } from './messages.ts';
import { budgetFailure, maxIterations } from './propose.ts';

/** Which rule a decision breaks, in a sentence for its author; undefined where none (6.16). */
export function decisionFault(
  session: Session,
  trigger: PendingTrigger,
  decision: Decision,
): string | undefined {
  const { conversation } = session;
  if (conversation === undefined) return 'the session is a direct call, for which nothing is decided';
  const { expectedStateVersion: expected, stateJson, agent } = decision;
  if (expected !== undefined && expected !== conversation.stateVersion) {
    return `the state has version ${conversation.stateVersion}, not ${expected}; read it again`;
  }
  return (
    jsonFault('state_json', stateJson ?? '', 'any') ??
    (agent !== undefined && !sameConfig(agent, conversation.agent) ? agentFault(agent) : undefined) ??
    messagesFault(session, conversation, decision.messages) ??
    actionsFault(session, conversation, trigger, decision)
  );
}

function messagesFault(
  session: Session,
  conversation: Conversation,
  messages: readonly ChatMessage[],
): string | undefined {
  if (conversation.messages.length + messages.length > MAX_SESSION_MESSAGES) {
    return `the conversation would have more than ${MAX_SESSION_MESSAGES} messages; start another session`;
  }
  if (messages.length === 0) return undefined;
  const ids = new Set(conversation.messages.map(({ id }) => id));
  const answered = new Set(conversation.messages.flatMap(resultsIn).map(({ callId }) => callId));
  const held = new Set(conversation.messages.flatMap(callsIn).map(({ callId }) => callId));
  for (const [index, message] of messages.entries()) {
    const where = `messages[${index}]`;
    if (message.role === Role.UNSPECIFIED) return `${where}.role is not set`;
    if (message.id.length > MAX_ID_CHARS) return `${where}.id is longer than ${MAX_ID_CHARS} characters`;
    if (message.id !== '' && ids.has(message.id)) return `${where}.id is that of another message`;
    ids.add(message.id);
    const empty = message.parts.findIndex(({ kind }) => kind.case === undefined);
    if (empty >= 0) return `${where}.parts[${empty}] has no kind, or one that this engine does not know`;
    const calls = callsIn(message);
    if (calls.length > 0 && message.role !== Role.ASSISTANT)
      return `${where}: an assistant's message alone makes calls`;
    for (const { callId } of calls) {
      if (callId === '' || callId.length > MAX_ID_CHARS)
        return `${where}: a call's id has to have 1 to ${MAX_ID_CHARS} characters`;
      if (held.has(callId) || session.calls.has(callId))
        return `${where}: the call id ${callId} is used already`;
      held.add(callId);
    }
    for (const { callId, outcome } of resultsIn(message)) {
      if (message.role !== Role.TOOL) return `${where}: a tool's message alone holds results`;
      if (outcome.case === undefined) return `${where}: the result of ${callId} has no outcome`;
      if (answered.has(callId)) return `${where}: call ${callId} has a result already`;
      if (!held.has(callId)) return `${where}: no message holds a call ${callId}`;
      const call = session.calls.get(callId);
      if (call !== undefined && call.phase.kind !== 'finished')
        return `${where}: call ${callId} has not ended; end it with tool.result or tool.error`;
      answered.add(callId);
    }
  }
  return undefined;
}

function actionsFault(
  session: Session,
  conversation: Conversation,
  trigger: PendingTrigger,
  decision: Decision,
): string | undefined {
  const { actions, messages, agent } = decision;
  if (actions.length > MAX_ACTIONS)
    return `there are ${actions.length} actions; at most ${MAX_ACTIONS} are possible`;
  if (actions.length > 0 && conversation.turn === undefined) {
    return `no turn is running, so ${trigger.cause.kind} can start nothing`;
  }
  const held = new Set([...conversation.messages, ...messages].flatMap(callsIn).map(({ callId }) => callId));
  const started = new Set<string>();
  const endedHere = new Set<string>();
  for (const [index, action] of actions.entries()) {
    const fault = actionFault(session, conversation, action, { held, started, ended: endedHere });
    if (fault !== undefined) return `actions[${index}]: ${fault}`;
  }
  if (started.size > MAX_CALLS_PER_RESPONSE) {
    return `${started.size} calls would start; at most ${MAX_CALLS_PER_RESPONSE} may at once`;
  }
  const heldBack = heldBackFault(conversation, actions, started);
  if (heldBack !== undefined) return heldBack;
  const unanswered = unansweredFault(session, trigger, decision);
  if (unanswered !== undefined) return unanswered;
  if (
    conversation.turn?.finishing !== undefined &&
    trigger.cause.kind !== 'turn.finished' &&
    actions.some(goesOn)
  )
    return 'the turn is done already; a decision on turn.finished can go on';
  const modelCalls = actions.filter(({ kind }) => kind.case === 'modelCall').length;
  const isDone = actions.some(({ kind }) => kind.case === 'done');
  if (modelCalls > 1) return 'one model call is possible at a time';
  if (isDone && (modelCalls > 0 || started.size > 0)) return 'done stands alone: it starts nothing beside it';
  if (modelCalls === 0) return undefined;
  if (started.size > 0)
    return 'the model is called once every call of the iteration has ended, not beside them';
  return modelCallFault(session, trigger, endedHere, agent ?? conversation.agent);
}

/** After such an action a turn that was about to end does not. */
export function goesOn({ kind }: Action): boolean {
  return (
    kind.case === 'modelCall' ||
    kind.case === 'toolCall' ||
    kind.case === 'subagentSpawn' ||
    kind.case === 'interrupt'
  );
}

/** An interrupt with a call holds back one that starts: nobody could answer it otherwise (6.11). */
function heldBackFault(
  { turn }: Conversation,
  actions: readonly Action[],
  started: ReadonlySet<string>,
): string | undefined {
  for (const { kind } of actions) {
    if (kind.case !== 'interrupt' || kind.value.callId === '') continue;
    const { callId } = kind.value;
    const waits = turn?.plan.some((planned) => planned.callId === callId && planned.state === 'planned');
    if (!started.has(callId) && !waits)
      return `call ${callId} cannot be held back: start it with tool.call in the same decision`;
  }
  return undefined;
}

/** The answer to an interrupt goes nowhere else: whoever decides on it says what becomes of the call (6.11). */
function unansweredFault(
  { calls }: Session,
  { cause }: PendingTrigger,
  { actions }: Decision,
): string | undefined {
  if (cause.kind !== 'interrupt.resumed') return undefined;
  const call = [...calls.values()].find(
    ({ phase }) => phase.kind === 'interrupted' && phase.interruptId === cause.interruptId,
  );
  if (call === undefined) return undefined;
  const { callId } = call;
  const isNamed = actions.some(
    ({ kind }) =>
      kind.case === 'done' ||
      ((kind.case === 'toolCall' || kind.case === 'toolResult' || kind.case === 'toolError') &&
        kind.value.callId === callId),
  );
  return isNamed
    ? undefined
    : `call ${callId} waits for what the answer means: start it with tool.call, or end it with tool.result or tool.error`;
}

interface Seen {
  /** Calls that some message holds. */
  readonly held: ReadonlySet<string>;
  readonly started: Set<string>;
  readonly ended: Set<string>;
}

function actionFault(
  session: Session,
  conversation: Conversation,
  { kind }: Action,
  seen: Seen,
): string | undefined {
  switch (kind.case) {
    case 'modelCall':
      return kind.value.retry && policyFault(kind.value.retry);
    case 'toolCall': {
      const { callId, retry } = kind.value;
      const call = session.calls.get(callId);
      if (call?.phase.kind === 'interrupted') return interruptedFault(conversation, callId, seen);
      return startFault(session, conversation, callId, seen) ?? (retry && policyFault(retry));
    }
    case 'subagentSpawn': {
      const { callId, agentId, agent } = kind.value;
      if (agentId === '') return 'subagent.spawn needs an agent_id';
      return startFault(session, conversation, callId, seen) ?? (agent && agentFault(agent));
    }
    case 'toolResult':
    case 'toolError':
      return resultFault(session, kind.value, seen);
    case 'interrupt': {
      const { interruptId, callId, payloadJson } = kind.value;
      if (interruptId.length > MAX_ID_CHARS) return `interrupt_id is longer than ${MAX_ID_CHARS} characters`;
      if (callId !== '' && (session.calls.has(callId) || !seen.held.has(callId)))
        return `call ${callId} cannot be held back: it is not one that is about to start`;
      return jsonFault('interrupt.payload_json', payloadJson, 'any');
    }
    case 'done':
      return jsonFault('done.output_json', kind.value.outputJson, 'any');
    case 'toolDefer':
      return 'tool.defer answers tool.execute alone';
    case 'modelResult':
    case 'modelError':
      return 'model.result and model.error answer model.execute alone';
    case undefined:
      return 'it has no kind, or one that this engine does not know';
  }
}

/** A call starts once, and a message holds it (6.16). */
function startFault(
  session: Session,
  { turn }: Conversation,
  callId: string,
  { held, started }: Seen,
): string | undefined {
  if (session.calls.has(callId) || turn?.plan.some((planned) => planned.callId === callId))
    return `call ${callId} has started already`;
  if (!held.has(callId)) return `no message holds a call ${callId}`;
  if (started.has(callId)) return `call ${callId} is started twice`;
  started.add(callId);
  return undefined;
}

/** An interrupted call goes on when its interrupt has been answered, and not before (6.11). */
function interruptedFault(
  { interrupts }: Conversation,
  callId: string,
  { started, ended }: Seen,
): string | undefined {
  if (started.has(callId) || ended.has(callId)) return `call ${callId} is started twice, or ended beside it`;
  started.add(callId);
  const waits = [...interrupts.values()].some((each) => each.callId === callId && each.state.kind === 'open');
  return waits ? `call ${callId} waits for the answer to its interrupt` : undefined;
}

function resultFault(
  { calls }: Session,
  value: ToolResultAction | ToolErrorAction,
  { ended }: Seen,
): string | undefined {
  const call = calls.get(value.callId);
  if (call === undefined) return `no call ${value.callId} is running; put its end into a tool's message`;
  if (call.phase.kind === 'finished' || ended.has(value.callId))
    return `call ${value.callId} has ended already`;
  if (value.attempt !== 0 && value.attempt !== call.attempt)
    return `the attempt of ${value.callId} is ${call.attempt}`;
  ended.add(value.callId);
  if (value.$typeName === 'spindle.v1.ToolResultAction' && value.form.case !== 'result') {
    return 'tool.result needs a result';
  }
  return undefined;
}

function modelCallFault(
  { calls, conversation }: Session,
  trigger: PendingTrigger,
  endedHere: ReadonlySet<string>,
  agent: Conversation['agent'],
): string | undefined {
  const { turn, triggers = [] } = conversation ?? {};
  if (turn === undefined) return undefined;
  if (turn.model !== undefined) return 'a model call is under way';
  // Its response may start calls, which the next model call has to wait for (6.1).
  if (
    triggers.some(
      ({ cause, decisionId }) => cause.kind === 'model.finished' && decisionId !== trigger.decisionId,
    )
  )
    return 'the response of the last model call is still to be decided';
  const running = turn.plan.find(({ callId, state }) => state !== 'ended' && !endedHere.has(callId));
  if (running !== undefined) {
    const name = calls.get(running.callId)?.name ?? running.name;
    return `the model is called once every call of the iteration has ended; ${name} (${running.callId}) has not`;
  }
  if (turn.iterations > maxIterations(agent)) {
    return `the turn has made ${turn.iterations} model calls, and may make ${maxIterations(agent)} and a last one`;
  }
  return budgetFailure(agent, turn)?.message;
}
