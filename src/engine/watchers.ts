import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { Delta } from '../../gen/spindle/v1/message_pb.ts';
import type { CallUpdate } from '../../gen/spindle/v1/tool_service_pb.ts';
import type { Refusal } from '../core/refusal.ts';
import type { Session } from '../core/session.ts';

/** Somebody who waits for what happens to a call. It is called within the engine's tick, and must not throw. */
export interface CallWatcher {
  /** True: every update. False: the last one alone. */
  readonly wantsAll: boolean;
  readonly update: (update: CallUpdate) => void;
  /** The engine cannot follow the call any more; another engine, or a later request, can. */
  readonly lost: (refusal: Refusal) => void;
}

/** Somebody who follows a session. Called within the engine's tick, it must not throw. */
export interface SessionFollower {
  /** Resolves once more can be taken. Awaited while a log is read, which may be longer than what fits. */
  readonly room?: () => Promise<void>;
  /** Events that have become durable, in order, and the session after them. */
  readonly events: (events: readonly SessionEvent[], session: Session) => void;
  readonly delta: (delta: Delta) => void;
  /** The engine cannot follow the session any more; another engine, or a later request, can. */
  readonly lost: (refusal: Refusal) => void;
}
