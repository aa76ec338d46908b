import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A key and what an authority signed for it, in files. */
export interface Signed {
  readonly certificate: string;
  readonly key: string;
  readonly pem: { readonly certificate: Buffer; readonly key: Buffer };
}

export interface Authority {
  readonly certificate: string;
  readonly pem: Buffer;
  sign(name: string, options?: { readonly commonName?: string; readonly alternativeName?: string }): Signed;
}

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** An authority of its own, made by the openssl of the system, for tests of TLS. */
export function createAuthority(directory: string, name = 'authority'): Authority {
  const file = (kind: string): string => join(directory, `${name}.${kind}`);
  const subject = ['-subj', `/CN=${name}`];
  openssl('req', '-x509', ...KEY, '-keyout', file('key'), '-out', file('crt'), '-days', '2', ...subject);
  return {
    certificate: file('crt'),
    pem: readFileSync(file('crt')),
    sign(signedName, { commonName = signedName, alternativeName = 'DNS:localhost,IP:127.0.0.1' } = {}) {
      const signed = (kind: string): string => join(directory, `${signedName}.${kind}`);
      openssl(
        'req',
        '-x509',
        ...KEY,
        '-CA',
        file('crt'),
        '-CAkey',
        file('key'),
        '-keyout',
        signed('key'),
        '-out',
        signed('crt'),
        '-days',
        '2',
        '-subj',
        `/CN=${commonName}`,
        '-addext',
        `subjectAltName=${alternativeName}`,
        '-addext',
        'basicConstraints=critical,CA:FALSE',
      );
      return {
        certificate: signed('crt'),
        key: signed('key'),
        pem: { certificate: readFileSync(signed('crt')), key: readFileSync(signed('key')) },
      };
    },
  };
}
