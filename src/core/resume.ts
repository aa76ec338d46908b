import { create } from '@bufbuild/protobuf';
import { ToolCallRequeuedSchema } from '../../gen/spindle/v1/event_pb.ts';
import { InterruptResumedSchema } from '../../gen/spindle/v1/trigger_pb.ts';
import { afterDispatch, finish } from './attempt.ts';
import type { ResumeCall } from './command.ts';
import type { Draft } from './event.ts';
import { happened, NOTHING, type Ruling } from './ruling.ts';
import type { Session } from './session.ts';

/** The answer to an interrupt that a call raised: the same attempt runs again, or the call ends (6.11). */
export function decideResume(session: Session, command: ResumeCall): Ruling {
  const { interruptId, payloadJson, denyReason } = command;
  for (const call of session.calls.values()) {
    if (call.phase.kind !== 'interrupted' || call.phase.interruptId !== interruptId) continue;
    const { callId, attempt } = call;
    const answered: Draft = {
      kind: {
        case: 'interruptResumed',
        value: create(InterruptResumedSchema, { interruptId, callId, payloadJson }),
      },
    };
    if (denyReason !== undefined) {
      const text = denyReason === '' ? `${call.name} was denied.` : denyReason;
      return happened(answered, finish(call, { error: afterDispatch(call, 'denied', text) }));
    }
    const again = create(ToolCallRequeuedSchema, { callId, attempt, reason: 'resumed' });
    return happened(answered, { kind: { case: 'toolCallRequeued', value: again } });
  }
  return NOTHING;
}
