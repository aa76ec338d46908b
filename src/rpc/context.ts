import { accepted, type Outcome } from '../core/refusal.ts';
import type { ClientCertificate, Credentials, Identity } from '../engine/ports.ts';
import type { RequestContext } from './handlers.ts';
import type { OpenRequests } from './open-requests.ts';
import { type HeaderLookup, traceContextOf } from './trace-context.ts';

/** What lets a request in. */
export interface Door {
  readonly credentials: Credentials;
  readonly requests: Pick<OpenRequests, 'refusal'>;
}

/** A request as it arrives, on either port. */
export interface Arrival {
  readonly peer: string;
  readonly header: HeaderLookup;
  readonly certificate: () => ClientCertificate | undefined;
  readonly signal: AbortSignal;
}

export type Context = Outcome<RequestContext>;

/**
 * The context of a request, made in the same way on both ports; or the reason why its caller is turned away. The one
 * place of them all that looks at credentials (9.2). A promise where a signature has to be verified.
 */
export function openContext(
  { credentials, requests: { refusal } }: Door,
  arrival: Arrival,
): Context | Promise<Context> {
  if (refusal !== undefined) return { ok: false, refusal };
  const { header, certificate } = arrival;
  const identity = credentials.authenticate({ authorization: header('authorization'), certificate });
  return 'ok' in identity
    ? contextOf(identity, arrival)
    : identity.then((verified) => contextOf(verified, arrival));
}

function contextOf(identity: Outcome<Identity>, { header, signal, peer }: Arrival): Context {
  if (!identity.ok) return identity;
  const { caller, lifetime } = identity.value;
  return accepted({ caller, lifetime, signal, traceContext: traceContextOf(header), peer });
}
