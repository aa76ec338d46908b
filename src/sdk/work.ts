import type { Delta } from '../../gen/spindle/v1/message_pb.ts';
import type { Millis } from '../core/time.ts';
import type { AnswerOutcome } from './outcome.ts';
import type { HandlerHooks } from './tool-context.ts';

/** What a dispatch is about, for people. */
export type Subject =
  | { readonly kind: 'call'; readonly callId: string; readonly toolName: string }
  | {
      readonly kind: 'decision';
      /** Of model.execute the id of the model call. */
      readonly decisionId: string;
      readonly agentId: string;
      /** In dotted form. */
      readonly trigger: string;
    };

/** What the surroundings of a handler give to one dispatch. */
export interface WorkHooks extends HandlerHooks {
  /** Passes on more of a model's answer. Lossy. */
  readonly stream: (deltas: readonly Delta[]) => void;
}

/** How a handler ended. */
export type Ending =
  | { readonly kind: 'answered'; readonly outcome: AnswerOutcome }
  /** It failed, and its dispatch is given back: the engine asks again, here or elsewhere. */
  | { readonly kind: 'gave_back'; readonly reason: string; readonly retryAfterMs: Millis };

/** What a dispatch asks of this process, ready to be started. */
export interface Work {
  readonly subject: Subject;
  /** Never rejects: whatever the author's code throws is the ending of its own dispatch. */
  readonly start: (hooks: WorkHooks) => Promise<Ending>;
}
