import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import type { Dispatch } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Tool } from './tool.ts';
import type { Work } from './work.ts';

/** The run of a tool for one dispatch: the same for a tool that a worker offers and one that an agent declares. */
export function toolWork(tool: Tool, dispatch: Dispatch, execute: ToolExecute): Work {
  return {
    subject: { kind: 'call', callId: execute.callId, toolName: execute.name },
    async start(hooks) {
      if (tool.handle === undefined) throw new Error(`tool ${tool.name} has no handler`);
      return { kind: 'answered', outcome: await tool.handle(dispatch, execute, hooks) };
    },
  };
}
