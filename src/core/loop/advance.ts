import { create } from '@bufbuild/protobuf';
import { DecisionRefusedSchema, DecisionRequestedSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { failure } from '../failure.ts';
import { MAX_DECISION_REFUSALS } from '../limits.ts';
import type { TriggerName } from '../trigger-name.ts';
import { apply } from './apply.ts';
import { type PendingTrigger, pausing } from './conversation.ts';
import { propose } from './propose.ts';
import { type Story, tell } from './story.ts';
import { failTurn, started } from './turn.ts';

/** Which triggers of the session's agent some worker wants to decide. */
export interface Deciders {
  wants(trigger: TriggerName): boolean;
}

export const NO_DECIDERS: Deciders = { wants: () => false };

/**
 * Goes on as far as nobody has to be asked: proposals apply in the append of what they are about, the first trigger
 * that a worker wants is asked, and a turn that waited starts (6.1, 6.14).
 */
export function advance(before: Story, deciders: Deciders): Story {
  let story = before;
  for (;;) {
    const { conversation } = story.session;
    if (conversation === undefined) return story;
    const [trigger] = conversation.triggers;
    const [waiting] = conversation.queue;
    // Also before the start of the session is decided, or nothing would bound the wait for whoever decides it.
    if (conversation.turn === undefined && waiting !== undefined) {
      story = tell(story, started(story.session, waiting));
      continue;
    }
    if (trigger === undefined) return story;
    if (trigger.askedAt !== undefined || pausing(conversation) !== undefined) return story;
    const { kind } = trigger.cause;
    if (deciders.wants(kind) || isRequired(story, trigger)) {
      const { decisionId, causeSequence } = trigger;
      const value = create(DecisionRequestedSchema, { decisionId, trigger: kind, causeSequence });
      return tell(story, { kind: { case: 'decisionRequested', value } });
    }
    story = applyProposal(story, trigger);
  }
}

/** Whether the proposal may not apply by itself: the agent says so, or there is no configuration to propose (6.16). */
export function isRequired({ session }: Story, { cause }: PendingTrigger): boolean {
  const { agent } = session.conversation ?? {};
  return agent === undefined ? cause.kind === 'session.start' : agent.requiredTriggers.includes(cause.kind);
}

/** The engine's own decision. One that breaks a rule ends the turn: nobody else would decide better. */
export function applyProposal(story: Story, trigger: PendingTrigger): Story {
  const { session, at } = story;
  const applied = apply(session, trigger, propose(session, trigger), { at, workerName: '' });
  if (applied.kind === 'applied') {
    return { ...applied.story, events: [...story.events, ...applied.story.events] };
  }
  return failTurn(story, failure('internal', `The turn cannot go on: ${applied.reason}`));
}

/** A decision broke a rule. It is asked again, but not for ever (6.16). */
export function refuseDecision(story: Story, trigger: PendingTrigger, reason: string): Story {
  const value = create(DecisionRefusedSchema, { decisionId: trigger.decisionId, reason });
  const refused = tell(story, { kind: { case: 'decisionRefused', value } });
  if (trigger.refusals + 1 < MAX_DECISION_REFUSALS) return refused;
  return giveUp(
    refused,
    trigger,
    `its decisions were refused ${MAX_DECISION_REFUSALS} times, at last because ${reason}`,
  );
}

/** Nobody decides any more: the proposal applies, or the turn fails where it may not (5.13, 6.16). */
export function giveUp(story: Story, trigger: PendingTrigger, why: string): Story {
  if (!isRequired(story, trigger)) return applyProposal(story, trigger);
  return failTurn(story, failure('decider_unavailable', `Nobody decided ${trigger.cause.kind}: ${why}.`));
}
