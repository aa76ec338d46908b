import type { Dispatch } from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { Agent } from '../agent/agent.ts';
import { triggerNameOf } from '../agent/decision-context.ts';
import type { Tool } from '../tool.ts';
import { toolWork } from '../tool-work.ts';
import type { Work } from '../work.ts';

/** Whether a worker starts a dispatch, or gives it back unstarted (4.3, 5.12). */
export type Admission =
  | { readonly kind: 'admitted'; readonly work: Work }
  | { readonly kind: 'rejected'; readonly reason: string };

/** What a worker serves, by name and by id. */
export interface Serving {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly agents: ReadonlyMap<string, Agent>;
}

/** In the order in which the engine routes a call (4.11): offered tools, then those of the agent. */
export function admit(dispatch: Dispatch, { tools, agents }: Serving, draining: boolean): Admission {
  if (draining) return { kind: 'rejected', reason: 'the worker drains' };
  const kind = dispatch.trigger?.kind;
  if (kind?.case === 'toolExecute') {
    const tool = tools.get(kind.value.name);
    if (tool !== undefined) return { kind: 'admitted', work: toolWork(tool, dispatch, kind.value) };
  }
  const work = agents.get(dispatch.agentId)?.work(dispatch);
  return work === undefined ? { kind: 'rejected', reason: whyNot(dispatch) } : { kind: 'admitted', work };
}

function whyNot({ trigger, agentId }: Dispatch): string {
  const name = triggerNameOf(trigger);
  if (name === undefined) return 'the worker does not know the trigger that it got';
  const of = agentId === '' ? '' : ` of the agent ${agentId}`;
  if (trigger?.kind.case === 'toolExecute')
    return `the worker does not serve ${trigger.kind.value.name}${of}`;
  return `the worker does not decide about ${name}${of}`;
}
