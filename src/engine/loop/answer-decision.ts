import { create } from '@bufbuild/protobuf';
import { type Action, type Decision, DecisionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import { AcceptProposalSchema, type Answer } from '../../../gen/spindle/v1/worker_service_pb.ts';

export interface SplitAnswer {
  /** What the decision says of its own call. */
  readonly outcome: Answer['outcome'];
  /** All else; undefined where there is nothing else. */
  readonly amendment: Decision | undefined;
}

/** A decision that answers tool.execute: the outcome of its own call, and what else it changes (5.12). */
export function splitDecision(decision: Decision, callId: string): SplitAnswer {
  const own = decision.actions.find((action) => isOwn(action, callId));
  const actions = decision.actions.filter((action) => action !== own);
  const { stateJson, agent, messages } = decision;
  const isMore = actions.length > 0 || messages.length > 0 || stateJson !== undefined || agent !== undefined;
  return {
    // A decision about other things alone takes the proposal, where there is one.
    outcome: own === undefined ? { case: 'accept', value: create(AcceptProposalSchema) } : outcomeOf(own),
    amendment: isMore ? create(DecisionSchema, { ...decision, actions }) : undefined,
  };
}

function isOwn({ kind }: Action, callId: string): boolean {
  switch (kind.case) {
    case 'toolResult':
    case 'toolError':
    case 'toolDefer':
      return kind.value.callId === '' || kind.value.callId === callId;
    case 'interrupt':
      return kind.value.callId === callId;
    default:
      return false;
  }
}

function outcomeOf({ kind }: Action): Answer['outcome'] {
  switch (kind.case) {
    case 'toolResult':
      return kind.value.form.case === 'valueJson'
        ? { case: 'valueJson', value: kind.value.form.value }
        : kind.value.form.case === 'result'
          ? { case: 'result', value: kind.value.form.value }
          : { case: undefined };
    case 'toolError':
      return kind.value.error === undefined
        ? { case: undefined }
        : { case: 'error', value: kind.value.error };
    case 'toolDefer':
      return { case: 'toolDefer', value: kind.value };
    case 'interrupt':
      return { case: 'interrupt', value: kind.value };
    default:
      return { case: undefined };
  }
}
