import type { CallToolRequest } from '../../gen/spindle/v1/tool_service_pb.ts';
import type { RequestContext } from './handlers.ts';

/** A call with the trace context of its message, or where that has none, of the request's metadata (8.2). */
export function traced(request: CallToolRequest, { traceContext }: RequestContext): CallToolRequest {
  for (const _ in request.traceContext) return request;
  request.traceContext = { ...traceContext };
  return request;
}
