import { experimental, ServerCredentials } from '@grpc/grpc-js';
import type { Tls, TlsMaterial } from '../../access/tls.ts';
import { HELLO_TIMEOUT_MS } from '../../core/limits.ts';

type CertificateProvider = Parameters<typeof experimental.createCertificateProviderServerCredentials>[0];

/** Plain text, or TLS whose certificate follows the files. A client's certificate is asked for, and not demanded. */
export function serverCredentials(tls: Tls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const provider = providerOf(tls);
  const authority = tls.current.clientAuthority === undefined ? null : provider;
  // grpc-js 1.14 names its parameters the other way round: the first provider is asked for the server's own certificate.
  const credentials = experimental.createCertificateProviderServerCredentials(provider, authority, false);
  boundHandshakes(credentials);
  return credentials;
}

/**
 * A handshake that stalls ends when a hello would have to be there, and not after Node's two minutes. grpc-js has no
 * public way to say so; where the private one is gone, test/e2e/access/tls.test.ts fails.
 */
function boundHandshakes(credentials: ServerCredentials): void {
  const options: unknown = Reflect.get(credentials, 'serverConstructorOptions');
  if (typeof options === 'object' && options !== null)
    Reflect.set(options, 'handshakeTimeout', HELLO_TIMEOUT_MS);
}

function providerOf(tls: Tls): CertificateProvider {
  const authorities = createListeners((material) =>
    material.clientAuthority === undefined ? null : { caCertificate: material.clientAuthority },
  );
  const identities = createListeners(({ certificate, key }) => ({ certificate, privateKey: key }));
  tls.onChange((material) => {
    authorities.tell(material);
    identities.tell(material);
  });
  return {
    addCaCertificateListener: (listener) => authorities.add(listener, tls),
    removeCaCertificateListener: (listener) => authorities.remove(listener),
    addIdentityCertificateListener: (listener) => identities.add(listener, tls),
    removeIdentityCertificateListener: (listener) => identities.remove(listener),
  };
}

function createListeners<T>(read: (material: TlsMaterial) => T) {
  const listeners = new Set<(update: T) => void>();
  return {
    add(listener: (update: T) => void, tls: Tls): void {
      listeners.add(listener);
      // grpc-js hears only what comes after it has listened.
      queueMicrotask(() => listener(read(tls.current)));
    },
    remove(listener: (update: T) => void): void {
      listeners.delete(listener);
    },
    tell(material: TlsMaterial): void {
      for (const listener of listeners) listener(read(material));
    },
  };
}
