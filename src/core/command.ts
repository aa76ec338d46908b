import type { Decision, InterruptAction } from '../../gen/spindle/v1/action_pb.ts';
import type { AgentConfig, TaskContract } from '../../gen/spindle/v1/agent_pb.ts';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { OwnTerms } from '../../gen/spindle/v1/event_pb.ts';
import type { Usage } from '../../gen/spindle/v1/message_pb.ts';
import type { Failure, ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import type { ToolHandler, ToolInput } from '../../gen/spindle/v1/tool_pb.ts';
import type { ModelResponse, TurnInput } from '../../gen/spindle/v1/trigger_pb.ts';
import type { Terms } from './call.ts';
import type { Origin } from './loop/conversation.ts';
import type { Policy } from './policy.ts';
import type { Instant, Millis } from './time.ts';

/**
 * What may happen to a session. A command carries the time, the new ids and the random draws, so that
 * `decide` is a function of its arguments alone.
 */
export type Command =
  | RequestCall
  | PlaceCall
  | AnswerLease
  | RejectLease
  | LoseLease
  | Checkpoint
  | SettleCall
  | CancelCall
  | ResumeInterrupt
  | DisownCall
  | Tick
  | CreateSession
  | StartTurn
  | CancelTurn
  | RequestCalls
  | RequestModel
  | AnswerModel
  | Decide
  | GiveUpDecision
  | StartChild
  | EndChild;

interface Timed {
  readonly at: Instant;
}

/** Somebody calls a tool. The engine has found the definition and checked the arguments. */
export interface RequestCall extends Timed {
  readonly kind: 'request';
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly toolDigest: string;
  readonly input: ToolInput;
  /** The error that the model would read, where the input is not valid (1.2). */
  readonly inputFailure: Failure | undefined;
  readonly policy: Policy;
  readonly safeToRepeat: boolean;
  readonly requireValidInput: boolean;
  /** What the caller asks for itself, where nobody has declared the tool. */
  readonly ownTerms?: OwnTerms | undefined;
  readonly caller: Caller;
  readonly traceContext: Readonly<Record<string, string>>;
  /** Ends the call at once: the tool is declared nowhere, say. */
  readonly unservable: Failure | undefined;
  readonly placement: Placement | undefined;
}

/** A worker with a free slot, which is reserved under the lease's token. */
export interface Placement {
  readonly leaseToken: string;
  readonly instanceId: string;
  readonly streamNumber: number;
  readonly workerName: string;
  /** Set where the worker serves another definition than the one the call was checked against (5.11). */
  readonly recheck: Recheck | undefined;
}

export interface Recheck {
  readonly toolDigest: string;
  readonly input: ToolInput;
  readonly inputFailure: Failure | undefined;
  /** What holds from here on, where nobody had declared the tool before. */
  readonly terms?: Terms | undefined;
}

/** A worker became free for a call that waits. */
export interface PlaceCall extends Timed {
  readonly kind: 'place';
  readonly callId: string;
  readonly placement: Placement;
}

/** A worker answered a dispatch. */
export interface AnswerLease extends Timed {
  readonly kind: 'answer';
  readonly leaseToken: string;
  /** Where the answer came from: a lease is good from one instance alone. */
  readonly instanceId: string;
  readonly answer: WorkerAnswer;
  /** What else a worker that is bound to the agent decided with it (5.12). */
  readonly amendment?: Decision | undefined;
  /** Uniform in [0, 1), for the jitter of a retry. */
  readonly draw: number;
}

/** An answer, as the engine read it: bytes are blob references, the output has been checked. */
export type WorkerAnswer =
  | { readonly kind: 'result'; readonly result: ToolResult; readonly mismatch: string | undefined }
  | { readonly kind: 'failure'; readonly failure: Failure }
  /** Takes the proposal; undefined where the dispatch had none. */
  | { readonly kind: 'accept'; readonly proposed: Failure | undefined }
  | { readonly kind: 'defer'; readonly timeout: Millis | undefined }
  | {
      readonly kind: 'interrupt';
      readonly interruptId: string;
      readonly reason: string;
      readonly payloadJson: string;
    }
  | { readonly kind: 'cancelled' }
  /** Unset, unreadable, or of a kind that does not fit (5.12). */
  | { readonly kind: 'unfit'; readonly reason: string };

/** A worker gave a dispatch back unstarted. */
export interface RejectLease extends Timed {
  readonly kind: 'reject';
  readonly leaseToken: string;
  readonly instanceId: string;
  readonly reason: string;
  readonly draw: number;
}

/** A dispatch will not be answered. */
export interface LoseLease extends Timed {
  readonly kind: 'lose';
  readonly leaseToken: string;
  /** `lost`: it may have run (4.6). The others: it never did, so the attempt waits again (4.3). */
  readonly how: 'lost' | 'never_held' | 'never_sent';
  readonly draw: number;
}

/** A worker reported a checkpoint. */
export interface Checkpoint extends Timed {
  readonly kind: 'checkpoint';
  readonly leaseToken: string;
  readonly checkpoint: Uint8Array;
}

/** An answer from outside (4.9). */
export interface SettleCall extends Timed {
  readonly kind: 'settle';
  readonly callId: string;
  /** 0: any. */
  readonly attempt: number;
  readonly answer: Extract<WorkerAnswer, { kind: 'result' | 'failure' }>;
}

export interface CancelCall extends Timed {
  readonly kind: 'cancel';
  readonly callId: string;
  readonly reason: string;
}

/** Somebody answered an interrupt (6.11). */
export interface ResumeInterrupt extends Timed {
  readonly kind: 'resume';
  readonly interruptId: string;
  readonly payloadJson: string;
  /** Set: what waits is denied, with this text. */
  readonly denyReason: string | undefined;
}

/** No worker will serve a call that waits: its tool is declared nowhere (4.11). */
export interface DisownCall extends Timed {
  readonly kind: 'disown';
  readonly callId: string;
  readonly failure: Failure;
}

/** Time has passed. */
export interface Tick extends Timed {
  readonly kind: 'tick';
  readonly draw: number;
  readonly heard: Heard;
}

/**
 * When the worker of a running lease last reported progress, in the time of its session, or `away` while its
 * stream is broken. Progress is not recorded, so this is no part of the session: the engine remembers it, and
 * hands it in.
 */
export type Heard = ReadonlyMap<string, Instant | 'away'>;

/** A session with an agent begins. */
export interface CreateSession extends Timed {
  readonly kind: 'create';
  readonly agentId: string;
  readonly tenant: string;
  readonly subject: string;
  /** The parent sessions, nearest first. */
  readonly ancestry: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** The configuration that session.start proposes. */
  readonly agent: AgentConfig | undefined;
}

/** Input of a client (6.14). */
export interface StartTurn extends Timed {
  readonly kind: 'start_turn';
  readonly turnId: string;
  /** Undefined where the input only settles open calls of the running turn. */
  readonly input: TurnInput | undefined;
  readonly task: TaskContract | undefined;
  /** Wait behind a running turn. */
  readonly queue: boolean;
  readonly origin: Origin;
  /** Ends of open client-side calls that came in tool messages (6.9). */
  readonly settlements: readonly { readonly callId: string; readonly answer: SettleCall['answer'] }[];
}

export interface CancelTurn extends Timed {
  readonly kind: 'cancel_turn';
  /** Empty: the running one. */
  readonly turnId: string;
  readonly reason: string;
}

/** The calls that a decision started, as the engine found and checked them. */
export interface RequestCalls extends Timed {
  readonly kind: 'request_calls';
  /** In the order of the plan. */
  readonly calls: readonly PreparedCall[];
}

export interface PreparedCall extends Terms {
  readonly callId: string;
  readonly name: string;
  /** Set where they are not those of the message that holds the call: `call_tool` wraps them. */
  readonly arguments: string | undefined;
  readonly toolDigest: string;
  readonly input: ToolInput;
  readonly inputFailure: Failure | undefined;
  readonly handler: ToolHandler;
  readonly sequential: boolean;
  readonly endsTurn: boolean;
  /** Set where the call is over at once: the engine's own tool answered, or nobody can run it. */
  readonly outcome: { readonly result: ToolResult } | { readonly error: Failure } | undefined;
  /** A person has to approve it first. */
  readonly approval: InterruptAction | undefined;
  readonly placement: Placement | undefined;
}

/** The model call of an iteration, once its tools have been assembled (6.3). */
export interface RequestModel extends Timed {
  readonly kind: 'request_model';
  /** What was assembled for a turn that was cancelled meanwhile is not for the next one. */
  readonly turnId: string;
  readonly iteration: number;
  readonly callId: string;
  readonly model: string;
  readonly toolNames: readonly string[];
  readonly toolSetDigest: string;
  readonly policy: Policy;
  readonly historyRepairs: readonly string[];
  readonly toolsLeftOut: readonly string[];
  /** Sources of tools that could not be reached, for the model too (6.15). */
  readonly toolsUnavailable: readonly string[];
  /** Ends the call at once: nobody can make it. */
  readonly unservable: Failure | undefined;
}

export interface AnswerModel extends Timed {
  readonly kind: 'answer_model';
  readonly callId: string;
  readonly attempt: number;
  readonly answer:
    | { readonly kind: 'response'; readonly response: ModelResponse }
    | { readonly kind: 'failure'; readonly failure: Failure };
  readonly draw: number;
}

/** A worker decided. */
export interface Decide extends Timed {
  readonly kind: 'decide';
  readonly decisionId: string;
  /** Undefined accepts the proposal. */
  readonly decision: Decision | undefined;
  /** What the engine found wrong with it: a tool's schema, say. */
  readonly fault: string | undefined;
  readonly workerName: string;
}

/** Nobody decided as often as it was asked. */
export interface GiveUpDecision extends Timed {
  readonly kind: 'give_up_decision';
  readonly decisionId: string;
  readonly reason: string;
}

/** The child session of a call exists. */
export interface StartChild extends Timed {
  readonly kind: 'start_child';
  readonly callId: string;
  readonly sessionId: string;
  readonly agentId: string;
}

/** The turn of a child session ended (6.10). */
export interface EndChild extends Timed {
  readonly kind: 'end_child';
  readonly callId: string;
  readonly outcome: { readonly result: ToolResult } | { readonly error: Failure };
  readonly usage: Usage | undefined;
}
