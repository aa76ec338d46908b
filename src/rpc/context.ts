import { accepted, type Outcome } from '../core/refusal.ts';
import { authenticate } from './authenticate.ts';
import type { RequestContext } from './handlers.ts';
import type { OpenRequests } from './open-requests.ts';
import { type HeaderLookup, traceContextOf } from './trace-context.ts';

/** The context of a request, made in the same way on both ports; or the reason why its caller is turned away. */
export function openContext(
  { refusal }: Pick<OpenRequests, 'refusal'>,
  request: {
    readonly peer: string;
    readonly header: HeaderLookup;
    readonly signal: AbortSignal;
  },
): Outcome<RequestContext> {
  if (refusal !== undefined) return { ok: false, refusal };
  const caller = authenticate();
  if (!caller.ok) return caller;
  return accepted({
    caller: caller.value,
    signal: request.signal,
    traceContext: traceContextOf(request.header),
    peer: request.peer,
  });
}
