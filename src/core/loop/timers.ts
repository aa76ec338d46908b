import { earlier } from '../call.ts';
import type { Tick } from '../command.ts';
import { DECISION_TOTAL_MS } from '../limits.ts';
import type { Session } from '../session.ts';
import type { Instant } from '../time.ts';
import { expire } from '../timers.ts';
import { giveUp } from './advance.ts';
import { pausing } from './conversation.ts';
import { expireModelCall, modelCallOf, modelDeadline } from './model-call.ts';
import { begin, type Story, tell } from './story.ts';

/** When to look at a conversation again, besides its calls. */
export function conversationWakeup(session: Session, now: Instant): Instant | undefined {
  const model = modelCallOf(session);
  const modelAt =
    model === undefined ? undefined : model.from > now ? model.from : modelDeadline(session, model);
  return earlier(modelAt, decisionDeadline(session));
}

/** When the first trigger has been under decision for too long (4.1). Where no turn runs, or a person is
 * asked, it may wait. */
function decisionDeadline({ conversation }: Session): Instant | undefined {
  const askedAt = conversation?.triggers[0]?.askedAt;
  const turn = conversation?.turn;
  if (conversation === undefined || askedAt === undefined || turn === undefined) return undefined;
  if (pausing(conversation) !== undefined) return undefined;
  return Math.max(askedAt, turn.startedAt) + DECISION_TOTAL_MS;
}

/** What the passing of time does to a conversation and its calls. */
export function expireConversation(session: Session, tick: Tick): Story {
  const { at } = tick;
  const ends = [...session.calls.values()].flatMap((call) => expire(call, tick) ?? []);
  let story = tell(begin(session, at), ...ends);
  const model = expireModelCall(story.session, tick);
  if (model !== undefined) story = tell(story, model);
  const deadline = decisionDeadline(story.session);
  const [trigger] = story.session.conversation?.triggers ?? [];
  if (trigger === undefined || deadline === undefined || deadline > at) return story;
  return giveUp(story, trigger, `nobody answered within ${DECISION_TOTAL_MS / 1_000} s`);
}
