import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  type JsonGeneralName,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A key and what an authority signed for it, in files. */
export interface Signed {
  readonly certificate: string;
  readonly key: string;
  readonly pem: { readonly certificate: Buffer; readonly key: Buffer };
}

export interface Authority {
  readonly certificate: string;
  readonly pem: Buffer;
  sign(
    name: string,
    options?: { readonly commonName?: string; readonly alternativeName?: string },
  ): Promise<Signed>;
}

cryptoProvider.set(crypto);

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 3_600_000;

/** An authority of its own, for tests of TLS. */
export async function createAuthority(directory: string, name = 'authority'): Promise<Authority> {
  const keys = await newKeys();
  const issuer = `CN=${name}`;
  const own = await X509CertificateGenerator.createSelfSigned({
    ...lifetime(),
    serialNumber: newSerial(),
    name: issuer,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  const file = join(directory, `${name}.crt`);
  writeFileSync(file, own.toString('pem'));
  return {
    certificate: file,
    pem: readFileSync(file),
    async sign(signedName, { commonName = signedName, alternativeName = 'DNS:localhost,IP:127.0.0.1' } = {}) {
      const { publicKey, privateKey } = await newKeys();
      const signed = await X509CertificateGenerator.create({
        ...lifetime(),
        serialNumber: newSerial(),
        subject: `CN=${commonName}`,
        issuer,
        publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new SubjectAlternativeNameExtension(alternativeName.split(',').map(generalName)),
          new BasicConstraintsExtension(false, undefined, true),
        ],
      });
      return write(directory, signedName, signed, privateKey);
    },
  };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

/** Good from yesterday on: a clock that is a little behind must not matter. */
function lifetime(): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
}

function newSerial(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex');
}

/** Reads `DNS:localhost`, `IP:127.0.0.1` or `URI:spiffe://…`. */
function generalName(text: string): JsonGeneralName {
  const colon = text.indexOf(':');
  const types = { DNS: 'dns', IP: 'ip', URI: 'url' } as const;
  const type = types[text.slice(0, colon) as keyof typeof types];
  return { type, value: text.slice(colon + 1) };
}

async function write(
  directory: string,
  name: string,
  signed: X509Certificate,
  key: webcrypto.CryptoKey,
): Promise<Signed> {
  const certificate = join(directory, `${name}.crt`);
  const keyFile = join(directory, `${name}.key`);
  writeFileSync(certificate, signed.toString('pem'));
  writeFileSync(keyFile, PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY'));
  return {
    certificate,
    key: keyFile,
    pem: { certificate: readFileSync(certificate), key: readFileSync(keyFile) },
  };
}
