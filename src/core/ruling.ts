import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import type { Draft } from './event.ts';
import type { Story } from './loop/story.ts';
import type { Refusal } from './refusal.ts';

/** What `decide` makes of a command, before the events have their place in the log. */
export type Ruling =
  | {
      readonly kind: 'accepted';
      readonly drafts: readonly Draft[];
      /** Set where the events had to be decided one after the other; `drafts` is empty then. */
      readonly story?: Story;
      /** What became of an answer; absent where the command was none. */
      readonly answer?: AnswerRuling;
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export interface AnswerRuling {
  readonly verdict: AnswerVerdict;
  /** Why, where the answer was not recorded as the call's own. */
  readonly reason: string;
}

/** The command changes nothing: it comes too late, or again. */
export const NOTHING: Ruling = { kind: 'accepted', drafts: [] };

export function happened(...drafts: readonly Draft[]): Ruling {
  return { kind: 'accepted', drafts };
}

/** Events that were decided one after the other. */
export function told(story: Story, answer?: AnswerRuling): Ruling {
  return answer === undefined
    ? { kind: 'accepted', drafts: [], story }
    : { kind: 'accepted', drafts: [], story, answer };
}

export const RECORDED: AnswerRuling = { verdict: AnswerVerdict.RECORDED, reason: '' };

/** The answer is what these events say. */
export function recorded(...drafts: readonly Draft[]): Ruling {
  return { kind: 'accepted', drafts, answer: RECORDED };
}

/** The answer had been recorded before. */
export const DUPLICATE: Ruling = {
  kind: 'accepted',
  drafts: [],
  answer: { verdict: AnswerVerdict.DUPLICATE, reason: 'this answer is on record already' },
};

export function stale(reason: string, ...drafts: readonly Draft[]): Ruling {
  return { kind: 'accepted', drafts, answer: { verdict: AnswerVerdict.STALE, reason } };
}

/** The answer breaks a rule; the events say how its attempt ended. */
export function refusedAnswer(reason: string, ...drafts: readonly Draft[]): Ruling {
  return { kind: 'accepted', drafts, answer: { verdict: AnswerVerdict.REFUSED, reason } };
}

export function refuse(refusal: Refusal): Ruling {
  return { kind: 'refused', refusal };
}
