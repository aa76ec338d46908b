import { accepted, type Outcome } from '../core/refusal.ts';
import type { Audit, AuditFact, ClientCertificate, Credentials, Identity } from '../engine/ports.ts';
import type { RequestContext } from './handlers.ts';
import type { OpenRequests } from './open-requests.ts';
import { type HeaderLookup, traceContextOf } from './trace-context.ts';

/** What lets a request in. */
export interface Door {
  readonly credentials: Credentials;
  readonly requests: Pick<OpenRequests, 'refusal'>;
  readonly audit: Audit | undefined;
}

/** A request as it arrives, on either port. */
export interface Arrival {
  readonly peer: string;
  readonly header: HeaderLookup;
  readonly certificate: () => ClientCertificate | undefined;
  readonly signal: AbortSignal;
  /** What is asked for, for the record. */
  readonly method: string;
}

export type Context = Outcome<RequestContext>;

/**
 * The context of a request, made in the same way on both ports; or the reason why its caller is turned away. The one
 * place of them all that looks at credentials (9.2). A promise where a signature has to be verified.
 */
export function openContext(
  { credentials, audit, requests: { refusal } }: Door,
  arrival: Arrival,
): Context | Promise<Context> {
  if (refusal !== undefined) return { ok: false, refusal };
  const { header, certificate } = arrival;
  const identity = credentials.authenticate({ authorization: header('authorization'), certificate });
  return 'ok' in identity
    ? contextOf(identity, arrival, audit)
    : identity.then((verified) => contextOf(verified, arrival, audit));
}

function contextOf(identity: Outcome<Identity>, arrival: Arrival, audit: Audit | undefined): Context {
  const { header, signal, peer, method } = arrival;
  if (!identity.ok) {
    audit?.record({ method, peer, outcome: identity.refusal.reason });
    return identity;
  }
  const { caller, lifetime } = identity.value;
  const record =
    audit && ((fact: Omit<AuditFact, 'caller' | 'peer'>) => audit.record({ ...fact, caller, peer }));
  return accepted({ caller, lifetime, record, signal, traceContext: traceContextOf(header), peer });
}
