import { create } from '@bufbuild/protobuf';
import type { Decision as DecisionMessage } from '../../../gen/spindle/v1/action_pb.ts';
import {
  AcceptProposalSchema,
  CancelledSchema,
  type ContextLevel,
  type Dispatch,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import { failure } from '../../core/failure.ts';
import { REJECT_PAUSE_MS } from '../../core/limits.ts';
import { stoppedBecauseAsked } from '../handle.ts';
import type { AnswerOutcome } from '../outcome.ts';
import { failureOf, messageOf } from '../tool-error.ts';
import type { Ending, WorkHooks } from '../work.ts';
import { callsModel, type Decision, decisionMessageOf, type Proposal, proposalOf } from './decision.ts';
import { type DecisionContext, type DecisionResult, decisionContext } from './decision-context.ts';
import { sourcedTools, type ToolSource, withTools } from './tool-source.ts';

/** What an agent decides with, with the types of its triggers forgotten. */
export interface Decider {
  readonly agentId: string;
  readonly context: ContextLevel;
  readonly handler: ((context: DecisionContext) => DecisionResult | Promise<DecisionResult>) | undefined;
  /** Asked for the tools before each model call. */
  readonly toolSource: ToolSource | undefined;
}

/**
 * Makes one decision. A handler that throws decides nothing: its dispatch is given back, and the engine asks again
 * within the limits of decisions (4.1), so that a proposal never applies because the code that was to look at it
 * failed.
 */
export async function decide(decider: Decider, dispatch: Dispatch, hooks: WorkHooks): Promise<Ending> {
  try {
    const proposal = proposalOf(dispatch.proposed);
    const decision = await decisionOf(decider, dispatch, proposal, hooks);
    if (decision === proposal && dispatch.proposed !== undefined) return ACCEPTED;
    return { kind: 'answered', outcome: { case: 'decision', value: decisionMessageOf(decision) } };
  } catch (thrown) {
    if (stoppedBecauseAsked(thrown, hooks.signal)) return STOPPED;
    const reason = `the handler of the agent ${decider.agentId} failed: ${messageOf(thrown)}`;
    return { kind: 'gave_back', reason, retryAfterMs: REJECT_PAUSE_MS };
  }
}

/** Runs a tool call that none of the agent's tools serves. What its handler throws fails the attempt. */
export async function decideCall(decider: Decider, dispatch: Dispatch, hooks: WorkHooks): Promise<Ending> {
  try {
    const proposal = proposalOf(dispatch.proposed);
    const decision = await decisionOf(decider, dispatch, proposal, hooks);
    if (decision !== proposal) {
      const message = decisionMessageOf(decision);
      const outcome = endAlone(message) ?? { case: 'decision', value: message };
      return { kind: 'answered', outcome };
    }
    if (proposal.actions.length > 0) return ACCEPTED;
    const message = `The agent ${decider.agentId} did not end the call: its handler of tool.execute returned nothing.`;
    return { kind: 'answered', outcome: { case: 'error', value: failure('tool_error', message) } };
  } catch (thrown) {
    if (stoppedBecauseAsked(thrown, hooks.signal)) return STOPPED;
    return { kind: 'answered', outcome: { case: 'error', value: failureOf(thrown) } };
  }
}

/** What ends the call and says nothing else is an answer like that of a tool. */
function endAlone({ messages, actions, stateJson, agent }: DecisionMessage): AnswerOutcome | undefined {
  const [action] = actions;
  if (actions.length !== 1 || messages.length > 0 || stateJson !== undefined || agent !== undefined) {
    return undefined;
  }
  const { kind } = action ?? {};
  if (kind?.case === 'toolResult' && kind.value.callId === '' && kind.value.form.case === 'result') {
    return { case: 'result', value: kind.value.form.value };
  }
  const error = kind?.case === 'toolError' && kind.value.callId === '' ? kind.value.error : undefined;
  return error && { case: 'error', value: error };
}

const ACCEPTED: Ending = {
  kind: 'answered',
  outcome: { case: 'accept', value: create(AcceptProposalSchema) },
};
const STOPPED: Ending = {
  kind: 'answered',
  outcome: { case: 'cancelled', value: create(CancelledSchema) },
};

async function decisionOf(
  { context: level, handler, toolSource }: Decider,
  dispatch: Dispatch,
  proposal: Proposal,
  hooks: WorkHooks,
): Promise<Decision> {
  const context = decisionContext(dispatch, proposal, level, hooks.signal);
  const decided: Decision = (await handler?.(context)) ?? proposal;
  if (toolSource === undefined || !callsModel(decided)) return decided;
  return withTools(decided, context.config, await sourcedTools(toolSource, context, decided));
}
