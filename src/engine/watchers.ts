import type { CallUpdate } from '../../gen/spindle/v1/tool_service_pb.ts';
import type { Refusal } from '../core/refusal.ts';

/** Somebody who waits for what happens to a call. It is called within the engine's tick, and must not throw. */
export interface CallWatcher {
  /** True: every update. False: the last one alone. */
  readonly wantsAll: boolean;
  readonly update: (update: CallUpdate) => void;
  /** The engine cannot follow the call any more; another engine, or a later request, can. */
  readonly lost: (refusal: Refusal) => void;
}
