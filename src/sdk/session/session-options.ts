import type { AgentConfig } from '../../../gen/spindle/v1/agent_pb.ts';
import type { ChatMessage } from '../../../gen/spindle/v1/message_pb.ts';
import type { Session } from '../../../gen/spindle/v1/session_service_pb.ts';
import type { Agent } from '../agent/agent.ts';
import type { JsonValue } from '../json.ts';
import type { Members } from '../known-members.ts';
import type { TaskOptions } from '../task.ts';
import type { InterruptHandler } from './interrupt.ts';
import type { TurnEvent } from './session-event.ts';
import type { StartTurnOptions } from './turn-input.ts';
import type { TurnPlace, TurnResult } from './turn-result.ts';

/** An agent: as it was defined, or by its id. */
export type AgentReference<Output = unknown> = string | Pick<Agent<Output>, 'id' | 'task' | 'types'>;

export interface CreateSessionOptions {
  /** Names the session; the same id again is the same session. The engine makes one where it is not given. */
  readonly sessionId?: string;
  /** A configuration for this session in place of the agent's: `agentConfig({ … })`. */
  readonly config?: AgentConfig;
  /** For people and programs. */
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface RunTurnOptions<Task extends TaskOptions | undefined = TaskOptions | undefined>
  extends Omit<StartTurnOptions, 'task'> {
  readonly task?: Task;
  /** Answers interrupts. Without it they are left open. */
  readonly onInterrupt?: InterruptHandler;
  /** Ends the wait: the iteration throws the signal's reason. The turn goes on; `cancel` stops it. */
  readonly signal?: AbortSignal;
}

export interface RunOptions<Task extends TaskOptions | undefined = TaskOptions | undefined>
  extends RunTurnOptions<Task>,
    CreateSessionOptions {
  /** Told of everything that happens: text as it comes, say. */
  readonly onEvent?: (event: TurnEvent) => void;
}

export interface WatchOptions {
  /** Only events after this one. Everything where it is not given. */
  readonly afterSequence?: number;
  /** Deltas as well. */
  readonly deltas?: boolean;
  readonly signal?: AbortSignal;
}

export interface StartedTurn extends TurnPlace {
  /** It waits behind another. */
  readonly queued: boolean;
  /** It had been started before. */
  readonly existing: boolean;
  /** Watch from here to see the whole turn. */
  readonly afterSequence: number;
}

/** A turn as it stands: `result` once it has ended. */
export interface TurnState extends TurnPlace {
  readonly queued: boolean;
  readonly afterSequence: number;
  readonly result: TurnResult | undefined;
}

/** A session as it stands. */
export interface SessionState {
  readonly session: Session;
  /** The conversation, where it was asked for. */
  readonly messages: readonly ChatMessage[];
  /** The state; undefined until it is written. */
  readonly state: JsonValue | undefined;
}

export const CREATE_MEMBERS: Members<CreateSessionOptions> = {
  sessionId: true,
  config: true,
  metadata: true,
};
export const START_MEMBERS: Members<StartTurnOptions> = {
  turnId: true,
  queue: true,
  task: true,
  clientTools: true,
};
export const RUN_TURN_MEMBERS: Members<RunTurnOptions> = {
  ...START_MEMBERS,
  onInterrupt: true,
  signal: true,
};
export const RUN_MEMBERS: Members<RunOptions> = { ...CREATE_MEMBERS, ...RUN_TURN_MEMBERS, onEvent: true };
