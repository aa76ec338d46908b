import type { AgentConfig } from '../../../gen/spindle/v1/agent_pb.ts';
import type { Caller, CallSummary } from '../../../gen/spindle/v1/call_pb.ts';
import type { ChatMessage } from '../../../gen/spindle/v1/message_pb.ts';
import type {
  ClientAction,
  ClientMessages,
  InterruptResumed,
  ModelFinished,
  SessionStart,
  SubagentFinished,
  ToolExecute,
  ToolFinished,
  Trigger,
  TurnFinished,
} from '../../../gen/spindle/v1/trigger_pb.ts';
import { ContextLevel, type Dispatch } from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { TriggerName } from '../../core/trigger-name.ts';
import type { JsonValue } from '../json.ts';
import type { Decision, Proposal } from './decision.ts';

/** What happened, by the name of its trigger. */
export interface Triggers {
  readonly 'session.start': SessionStart;
  readonly 'client.messages': ClientMessages;
  readonly 'client.action': ClientAction;
  readonly 'tool.execute': ToolExecute;
  readonly 'tool.finished': ToolFinished;
  readonly 'model.finished': ModelFinished;
  readonly 'subagent.finished': SubagentFinished;
  readonly 'interrupt.resumed': InterruptResumed;
  readonly 'turn.finished': TurnFinished;
}

/** The triggers that a handler decides about; `onModelExecute` serves the remaining one. */
export type DecisionTrigger = keyof Triggers;

/** How much of a session a handler sees; more of it makes larger messages. */
export type ContextName = 'trigger' | 'state' | 'full';

/** What a handler knows, and what it can do. */
export interface DecisionContext<Name extends DecisionTrigger = DecisionTrigger> {
  /** What happened. */
  readonly trigger: Triggers[Name];
  /** What the engine would do. */
  readonly proposal: Proposal;
  /** Takes the proposal as it is; so does returning nothing. */
  accept(): Proposal;
  /** Names the decision. The same one may be asked again until it is answered, so bear repeats (5.13). */
  readonly decisionId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly agentId: string;
  /** Who owns the session, as the engine authenticated it. */
  readonly caller: Caller | undefined;
  /** The session's state; undefined until it is written. Needs the context 'state'. */
  readonly state: JsonValue | undefined;
  /** The state as JSON text: integers above 2^53 are whole in here. Needs the context 'state'. */
  readonly stateJson: string;
  /** Counts the writes of the state, for `expectedStateVersion`. Needs the context 'state'. */
  readonly stateVersion: number;
  /** The configuration in force. Needs the context 'state'. */
  readonly config: AgentConfig;
  /** The calls in flight. Needs the context 'state'. */
  readonly calls: readonly CallSummary[];
  /** The conversation. Needs the context 'full'. */
  readonly messages: readonly ChatMessage[];
  /** The parent sessions, nearest first. Needs the context 'state'. */
  readonly ancestry: readonly string[];
  /** Aborted when nobody waits for the decision any more; its `reason` is a CallStopped. */
  readonly signal: AbortSignal;
  /** W3C trace context: traceparent, tracestate, baggage. */
  readonly traceContext: Readonly<Record<string, string>>;
}

/** What a handler may return; nothing accepts the proposal. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is a handler.
export type DecisionResult = Decision | undefined | void;

/** Handlers, by the triggers that they decide about. */
export type DecisionHandlers = {
  readonly [Name in DecisionTrigger]?: (
    context: DecisionContext<Name>,
  ) => DecisionResult | Promise<DecisionResult>;
};

/** The name of a trigger; undefined for one that this version does not know. */
export function triggerNameOf(trigger: Trigger | undefined): TriggerName | undefined {
  const { case: kind } = trigger?.kind ?? {};
  return kind === undefined ? undefined : NAMES[kind];
}

const NAMES: Readonly<Record<NonNullable<Trigger['kind']['case']>, TriggerName>> = {
  sessionStart: 'session.start',
  clientMessages: 'client.messages',
  clientAction: 'client.action',
  toolExecute: 'tool.execute',
  toolFinished: 'tool.finished',
  modelExecute: 'model.execute',
  modelFinished: 'model.finished',
  subagentFinished: 'subagent.finished',
  interruptResumed: 'interrupt.resumed',
  turnFinished: 'turn.finished',
};

export const CONTEXT_LEVELS: Readonly<Record<ContextName, ContextLevel>> = {
  trigger: ContextLevel.TRIGGER,
  state: ContextLevel.STATE,
  full: ContextLevel.FULL,
};

/** The context that a dispatch gives a handler. What the agent did not ask for throws where it is read. */
export function decisionContext(
  dispatch: Dispatch,
  proposal: Proposal,
  level: ContextLevel,
  signal: AbortSignal,
): DecisionContext {
  const { context } = dispatch;
  let state: { readonly value: JsonValue | undefined } | undefined;
  const asked = <Value>(member: string, needed: ContextName, value: Value | undefined): Value => {
    if (level < CONTEXT_LEVELS[needed]) {
      throw new Error(
        `context.${member} is not sent to this agent: set context: '${needed}' in its definition to read it`,
      );
    }
    if (value === undefined) throw new Error(`the engine sent no ${member}: it breaks the contract`);
    return value;
  };
  return {
    // The caller has found the handler by the name of the trigger, which says which value it is.
    trigger: dispatch.trigger?.kind.value as Triggers[DecisionTrigger],
    proposal,
    accept: () => proposal,
    decisionId: dispatch.decisionId,
    sessionId: dispatch.sessionId,
    turnId: dispatch.turnId,
    agentId: dispatch.agentId,
    caller: dispatch.caller,
    get state() {
      const json = asked('state', 'state', context?.stateJson);
      state ??= { value: json === '' ? undefined : (JSON.parse(json) as JsonValue) };
      return state.value;
    },
    get stateJson() {
      return asked('stateJson', 'state', context?.stateJson);
    },
    get stateVersion() {
      return asked('stateVersion', 'state', context?.stateVersion);
    },
    get config() {
      return asked('config', 'state', context?.agent);
    },
    get calls() {
      return asked('calls', 'state', context?.calls);
    },
    get messages() {
      return asked('messages', 'full', context?.messages);
    },
    get ancestry() {
      return asked('ancestry', 'state', context?.ancestry);
    },
    signal,
    traceContext: dispatch.traceContext,
  };
}
