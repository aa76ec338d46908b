import type { PeerCertificate } from 'node:tls';
import type { ClientCertificate } from '../engine/ports.ts';

/** What a client's certificate says, as far as a table of them may name it. Undefined where there is none. */
export function certificateOf(peer: PeerCertificate | undefined): ClientCertificate | undefined {
  // Without a certificate Node gives an object with no members.
  if (peer?.raw === undefined) return undefined;
  const { fingerprint256, subject, subjectaltname = '', valid_to: validTo } = peer;
  // A subject may have several common names, and then stands for none of them.
  const commonName: unknown = subject?.CN;
  return {
    fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
    commonName: typeof commonName === 'string' ? commonName : '',
    // Node quotes a name that holds a comma, so that none can pass for two.
    alternativeNames: subjectaltname === '' ? [] : subjectaltname.split(', '),
    validTo: Date.parse(validTo),
  };
}
