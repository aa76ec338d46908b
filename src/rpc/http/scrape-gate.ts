import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Tls } from '../../access/tls.ts';
import { type Refusal, refused } from '../../core/refusal.ts';
import { roleOf } from '../../core/rights.ts';
import type { Audit, Credentials } from '../../engine/ports.ts';
import { formatAddress } from '../address.ts';
import { httpStatusOf } from '../status.ts';
import { certificateBy } from './certificate-by.ts';
import { createSecurableServer } from './securable-server.ts';

export interface ScrapeGateOptions {
  readonly credentials: Credentials;
  readonly tls: Tls | undefined;
  /** Who was turned away is on record; who reads, every few seconds, is not. */
  readonly audit: Audit | undefined;
  /** Whose operators read the metrics, which name tools of every tenant. */
  readonly tenant: string;
  /** Nobody is asked who they are. */
  readonly open: boolean;
  /** Throws where the address may not be listened on. */
  readonly checkAddress: (address: string) => void;
}

/** What stands in front of /metrics (9.2): the same credentials and the same TLS as in front of both ports. */
export function createScrapeGate(options: ScrapeGateOptions) {
  const { credentials, tls, audit, tenant, open, checkAddress } = options;

  const refusalOf = async (request: IncomingMessage): Promise<Refusal | undefined> => {
    const identity = await credentials.authenticate({
      authorization: request.headers.authorization,
      certificate: () => certificateBy(request),
    });
    const { remoteAddress = 'unknown', remotePort = 0 } = request.socket;
    const entry = { method: 'GET /metrics', peer: formatAddress({ host: remoteAddress, port: remotePort }) };
    if (!identity.ok) {
      audit?.record({ ...entry, outcome: identity.refusal.reason });
      return identity.refusal;
    }
    const { caller } = identity.value;
    const role = roleOf(caller);
    if (role === 'anonymous' || (role === 'operator' && caller.tenant === tenant)) return undefined;
    audit?.record({ ...entry, caller, outcome: 'not_permitted' });
    return refused(
      'not_permitted',
      `Metrics are of all tenants, and for operators of the tenant ${tenant} (the setting metrics_tenant).`,
    ).refusal;
  };
  return {
    checkAddress,
    createServer: (listener: RequestListener): Server => createSecurableServer(tls, listener),
    async refusal(request: IncomingMessage) {
      const refusal = open ? undefined : await refusalOf(request);
      return refusal && { status: httpStatusOf(refusal.reason), message: refusal.message };
    },
  };
}
