import type { ToolExecute } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Dispatch } from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { Tool } from '../tool.ts';

/** Whether a worker starts a dispatch, or gives it back unstarted (4.3, 5.12). */
export type Admission =
  | { readonly kind: 'admitted'; readonly tool: Tool; readonly execute: ToolExecute }
  | { readonly kind: 'rejected'; readonly reason: string };

export function admit(dispatch: Dispatch, tools: ReadonlyMap<string, Tool>, draining: boolean): Admission {
  if (draining) return { kind: 'rejected', reason: 'the worker drains' };
  const kind = dispatch.trigger?.kind;
  if (kind?.case !== 'toolExecute') {
    return {
      kind: 'rejected',
      reason: `the worker does not know the trigger ${kind?.case ?? 'that it got'}`,
    };
  }
  const execute = kind.value;
  const tool = tools.get(execute.name);
  if (tool === undefined) return { kind: 'rejected', reason: `the worker does not serve ${execute.name}` };
  return { kind: 'admitted', tool, execute };
}
