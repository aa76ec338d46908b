import type { ModelCallAction, SubagentSpawnAction } from '../../../gen/spindle/v1/action_pb.ts';
import type { AgentConfig, TaskContract } from '../../../gen/spindle/v1/agent_pb.ts';
import type { Caller } from '../../../gen/spindle/v1/call_pb.ts';
import type { ModelCallFinished, TurnEnded } from '../../../gen/spindle/v1/event_pb.ts';
import type { ChatMessage, Usage } from '../../../gen/spindle/v1/message_pb.ts';
import type { Failure } from '../../../gen/spindle/v1/result_pb.ts';
import type { RetryPolicy } from '../../../gen/spindle/v1/retry_pb.ts';
import type { TurnInput } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Policy } from '../policy.ts';
import type { Instant } from '../time.ts';

/**
 * What a session is beyond its calls, as its events tell it: a conversation with an agent. Invariants, which
 * test/core/loop/properties.test.ts checks in every state:
 *
 * 1. `triggers` are in the order of the events that they tell of; the first alone may be under decision.
 * 2. Without a running turn there is no model call, no plan and no trigger but session.start.
 * 3. A running turn that is not paused owes something: a trigger, a model call, or a call that has not ended.
 * 4. Every id in `plan` is a call of the session, or one that will be requested.
 */
export interface Conversation {
  readonly agentId: string;
  readonly tenant: string;
  readonly subject: string;
  /** The parent sessions, nearest first. */
  readonly ancestry: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Instant;
  /** The configuration in force; undefined until session.start is decided, where nobody proposes one. */
  readonly agent: AgentConfig | undefined;
  /** As JSON text, as it was last written; empty before that. */
  readonly stateJson: string;
  /** Counts the writes of the state. */
  readonly stateVersion: number;
  readonly messages: readonly ChatMessage[];
  /** Every turn that there was, by its id. */
  readonly turns: ReadonlyMap<string, TurnRecord>;
  /** Turns that wait behind the running one, in order. */
  readonly queue: readonly QueuedTurn[];
  readonly turn: Turn | undefined;
  /** What has happened and is not decided yet. Decisions of a session are made one at a time (6.1). */
  readonly triggers: readonly PendingTrigger[];
  readonly interrupts: ReadonlyMap<string, Interrupt>;
  /** Triggers that a worker has been asked about in this session, in dotted form. */
  readonly asked: ReadonlySet<string>;
  /** The child session of each call that started one. */
  readonly children: ReadonlyMap<string, string>;
}

/** What is known of a turn for as long as its session is: its id is a key that must not start it twice (6.14). */
export interface TurnRecord {
  /** The event before its first; 0 while it is queued. */
  readonly afterSequence: number;
  readonly queued: boolean;
  readonly ended: TurnEnded | undefined;
  /** What it read and wrote, however it ended; undefined until then, and where it never ran. */
  readonly usage: Usage | undefined;
}

export interface QueuedTurn {
  readonly turnId: string;
  readonly input: TurnInput | undefined;
  readonly task: TaskContract | undefined;
  readonly origin: Origin;
}

/** Who started a turn, and in which trace. */
export interface Origin {
  readonly caller: Caller | undefined;
  readonly traceContext: Readonly<Record<string, string>>;
}

export interface Turn {
  readonly turnId: string;
  readonly origin: Origin;
  readonly startedAt: Instant;
  readonly input: TurnInput | undefined;
  /** The contract that was in force when the turn started (6.12). */
  readonly task: TaskContract | undefined;
  /** Model calls that the turn has begun. */
  readonly iterations: number;
  /** What its model calls and subagents read and wrote. */
  readonly usage: Usage;
  readonly model: ModelStep | undefined;
  /** What the newest decision said about the model call of the next iteration. */
  readonly nextModelCall: ModelCallAction;
  /** What the newest model call offered: a ToolSet, by its digest; empty before the first. */
  readonly toolSetDigest: string;
  /** The calls of the iteration, in the order of the response. */
  readonly plan: readonly PlannedCall[];
  /** The response that the plan came from stopped for length: its last call may be cut (1.8). */
  readonly cutShort: boolean;
  /** How the newest model call failed: the turn ends so unless a decision goes on. */
  readonly failing: Failure | undefined;
  /** What `done` said; the turn ends once turn.finished is decided. */
  readonly finishing: { readonly outputJson: string } | undefined;
  /** A result of the iteration ends the turn (3.5); `outputJson` is the accepted value of a task. */
  readonly conclusion: { readonly outputJson: string } | undefined;
  /** Answers in prose under a contract (6.12). */
  readonly reminders: number;
  /** The newest iteration's calls and results, and how many in a row were the same (6.4). */
  readonly repetition: Repetition;
  /** The assistant's last message; empty before there is one. */
  readonly answerId: string;
}

export interface Repetition {
  readonly callIds: readonly string[];
  readonly count: number;
}

/** Where the model call of an iteration stands. */
export type ModelStep =
  /** Its tools have to be assembled first (6.3). */
  | { readonly kind: 'due'; readonly iteration: number; readonly action: ModelCallAction }
  | { readonly kind: 'calling'; readonly call: ModelCallInFlight };

export interface ModelCallInFlight {
  readonly callId: string;
  readonly iteration: number;
  readonly action: ModelCallAction;
  readonly model: string;
  readonly toolSetDigest: string;
  /** What the model is told about tools that are away. */
  readonly toolsUnavailable: readonly string[];
  readonly policy: Policy;
  readonly requestedAt: Instant;
  /** The attempt that waits or runs. */
  readonly attempt: number;
  /** It may begin from here on: before that it backs off. */
  readonly from: Instant;
}

/** A call that a decision started. */
export interface PlannedCall {
  readonly callId: string;
  readonly name: string;
  /** The message that holds its arguments. */
  readonly messageId: string;
  /** The model wrote it, in the response of the newest model call. */
  readonly isModels: boolean;
  /** The decision's layer of the policy. */
  readonly retry: RetryPolicy | undefined;
  /** Set where the decision starts a subagent in its own words. */
  readonly spawn: SubagentSpawnAction | undefined;
  readonly state: 'planned' | 'requested' | 'ended';
}

/** A trigger before it is decided. */
export interface PendingTrigger {
  /** The same until there is a decision (5.13). */
  readonly decisionId: string;
  readonly cause: Cause;
  /** The event that it tells of. */
  readonly causeSequence: number;
  /** When a worker was first asked; undefined: nobody has been. */
  readonly askedAt: Instant | undefined;
  /** Decisions that broke a rule. */
  readonly refusals: number;
}

export type Cause =
  | { readonly kind: 'session.start' }
  | { readonly kind: 'client.messages' }
  | { readonly kind: 'client.action' }
  | { readonly kind: 'tool.finished'; readonly callId: string }
  | { readonly kind: 'model.finished'; readonly end: ModelCallFinished }
  | { readonly kind: 'subagent.finished'; readonly callId: string }
  | { readonly kind: 'interrupt.resumed'; readonly interruptId: string }
  | { readonly kind: 'turn.finished' };

/** Something that waits for a person (6.11). Its id is good once in a session. */
export interface Interrupt {
  readonly interruptId: string;
  /** The call that it holds back; empty where it pauses the turn. */
  readonly callId: string;
  readonly reason: string;
  readonly payloadJson: string;
  /** The handler of the call raised it: the same attempt is dispatched again with the answer. */
  readonly raisedByHandler: boolean;
  readonly state:
    | { readonly kind: 'open' }
    | { readonly kind: 'answered'; readonly payloadJson: string; readonly denyReason: string | undefined }
    /** Its turn or its call ended first. */
    | { readonly kind: 'dropped' };
}

/** The interrupt that pauses the turn; decisions wait for its answer. */
export function pausing({ interrupts }: Conversation): Interrupt | undefined {
  for (const interrupt of interrupts.values()) {
    if (interrupt.callId === '' && interrupt.state.kind === 'open') return interrupt;
  }
  return undefined;
}

/** The policy that holds for a planned call in the turn's plan, or none. */
export function plannedCall(turn: Turn | undefined, callId: string): PlannedCall | undefined {
  return turn?.plan.find((planned) => planned.callId === callId);
}
