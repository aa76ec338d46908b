import { MAX_CACHED_IDENTITIES } from '../core/limits.ts';
import { callerOf } from '../core/rights.ts';
import type { ClientCertificate, Clock, Identity } from '../engine/ports.ts';
import { createLifetime } from './lifetime.ts';
import type { CertificateEntry } from './settings.ts';

/** The first entry of a table that names a certificate makes its caller (9.2). */
export function createCertificateTable(
  entries: readonly CertificateEntry[],
  clock: Clock,
): (certificate: ClientCertificate) => Identity | undefined {
  const known = new Map<string, Identity>();
  return (certificate) => {
    const { fingerprint, validTo } = certificate;
    // A connection outlives its handshake, and may outlive its certificate.
    if (clock.now() >= validTo) return undefined;
    const cached = known.get(fingerprint);
    if (cached !== undefined) return cached;
    const entry = entries.find((candidate) => names(candidate, certificate));
    if (entry === undefined) return undefined;
    const caller = callerOf({ ...entry, credentialId: `certificate:${fingerprint}` });
    const identity: Identity = { caller, lifetime: createLifetime(clock, validTo) };
    const [oldest] = known.keys();
    if (known.size >= MAX_CACHED_IDENTITIES && oldest !== undefined) known.delete(oldest);
    known.set(fingerprint, identity);
    return identity;
  };
}

function names(
  entry: CertificateEntry,
  { fingerprint, commonName, alternativeNames }: ClientCertificate,
): boolean {
  if (entry.fingerprint !== undefined) return entry.fingerprint === fingerprint;
  if (entry.commonName !== undefined) return entry.commonName === commonName;
  return entry.alternativeName !== undefined && alternativeNames.includes(entry.alternativeName);
}
