import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import { ToolHandler } from '../../gen/spindle/v1/tool_pb.ts';
import type { Call } from './call.ts';
import { namesTool, roleOf } from './rights.ts';

/** What a caller is to a call that waits for an answer from outside (4.9). */
export type Standing =
  /** It may settle the call. */
  | 'settler'
  /** It may see the call, and somebody else has to settle it. */
  | 'onlooker'
  /** For this caller there is no such call (9.3). */
  | 'stranger';

/**
 * Deferred calls are settled by a credential of a worker that serves their tool, or an operator's; client-side calls
 * by the session's owner (4.9). Where nobody is asked who they are, whoever made a call may settle it.
 */
export function standingOf(caller: Caller, call: Call): Standing {
  const { handler } = call;
  const own = call.caller?.subject === caller.subject;
  const role = roleOf(caller);
  switch (role) {
    case 'anonymous':
      return own ? 'settler' : 'stranger';
    case 'worker':
      return handler !== ToolHandler.CLIENT && namesTool(caller, call.name) ? 'settler' : 'stranger';
    case 'operator':
      return handler !== ToolHandler.CLIENT || own ? 'settler' : 'onlooker';
    case 'client':
      if (!own) return 'stranger';
      return handler === ToolHandler.CLIENT ? 'settler' : 'onlooker';
    default:
      return 'stranger';
  }
}
