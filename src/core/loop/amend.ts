import { create } from '@bufbuild/protobuf';
import { type Decision, DecisionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import { decideAnswer } from '../answer.ts';
import type { Call, Lease } from '../call.ts';
import type { AnswerLease } from '../command.ts';
import type { Ruling } from '../ruling.ts';
import { told } from '../ruling.ts';
import type { Session } from '../session.ts';
import { recordDecision } from './apply.ts';
import type { PendingTrigger } from './conversation.ts';
import { decisionFault } from './decision-fault.ts';
import { begin, tell } from './story.ts';

/**
 * An answer to tool.execute that decides more than how its call goes on: state, configuration, messages, the ends of
 * other calls, interrupts (5.12). All of it holds, or the answer is unfit. What is to start is for the trigger of the
 * call's end to decide.
 */
export function decideAmended(
  session: Session,
  { call, lease }: { readonly call: Call; readonly lease: Lease },
  command: AnswerLease,
  amendment: Decision,
): Ruling {
  // A late answer changes nothing, so neither does what came with it.
  if (lease.state.kind !== 'running') return decideAnswer(call, lease, command);
  const reason = amendmentFault(session, call, amendment);
  if (reason !== undefined)
    return decideAnswer(call, lease, { ...command, answer: { kind: 'unfit', reason } });
  const amended = recordDecision(begin(session, command.at), NO_TRIGGER, amendment);
  const ruling = decideAnswer(call, lease, command);
  return ruling.kind === 'refused' ? ruling : told(tell(amended, ...ruling.drafts), ruling.answer);
}

function amendmentFault(session: Session, { callId }: Call, amendment: Decision): string | undefined {
  for (const { kind } of amendment.actions) {
    if (kind.case === 'toolResult' || kind.case === 'toolError') {
      if (kind.value.callId === callId) return `call ${callId} is ended twice`;
    } else if (kind.case !== 'interrupt') {
      return `an answer to tool.execute starts nothing: leave ${kind.case ?? 'it'} to tool.finished`;
    }
  }
  return decisionFault(session, NO_TRIGGER, create(DecisionSchema, amendment));
}

/** What an amendment is about: no trigger of the session's. */
const NO_TRIGGER: PendingTrigger = {
  decisionId: '',
  cause: { kind: 'client.action' },
  causeSequence: 0,
  askedAt: undefined,
  refusals: 0,
};
