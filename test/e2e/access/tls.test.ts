import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CertificateEntry } from '../../../src/access/settings.ts';
import { CertificatesSchema } from '../../../src/access/settings.ts';
import { createClient, SpindleError } from '../../../src/sdk/index.ts';
import { createWorker, defineTool } from '../../../src/sdk/worker/index.ts';
import { type Authority, createAuthority, type Signed } from '../../access/pki.ts';
import { openEngine } from '../engine.ts';
import { method, openClient } from '../raw-client.ts';
import { connectWorker, helloOf } from '../raw-worker.ts';
import { attack } from './http2-frames.ts';

let directory: string;
let authority: Authority;
let stranger: Authority;
let server: Signed;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'spindle-tls-'));
  authority = await createAuthority(directory);
  stranger = await createAuthority(directory, 'stranger');
  server = await authority.sign('server');
});
afterAll(() => rm(directory, { recursive: true }));

const table = (...entries: readonly object[]): readonly CertificateEntry[] =>
  CertificatesSchema.parse(entries);

function channel(signed?: Signed) {
  return credentials.createSsl(
    authority.pem,
    signed === undefined ? null : signed.pem.key,
    signed === undefined ? null : signed.pem.certificate,
  );
}

/** A request over the HTTP port; the status, or the error of the connection. */
function statusOverHttp(address: string, options: object = {}): Promise<number | string> {
  return new Promise((resolve) => {
    const request = get(
      `https://${address}/`,
      { ca: authority.pem, agent: false, ...options },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

describe('TLS', () => {
  it('9.1: is on both ports; plain text and an unknown authority get nowhere', async () => {
    await using engine = await openEngine({ tls: server });
    const client = openClient(engine.address, { channel: channel() });
    expect((await client.call(method.listTools, {})).tools).toEqual([]);
    client.close();
    expect((await engine.client.refused(method.listTools, {}, 2_000)).code).not.toBe('OK');
    const http = engine.running.httpAddress ?? '';
    expect(await statusOverHttp(http)).toBe(200);
    expect(await statusOverHttp(http, { ca: stranger.pem })).not.toBe(200);
    await expect(fetch(`http://${http}/`)).rejects.toThrow();
  });

  it('9.1: ends a handshake that stalls once the time for a hello is over, on both ports', async () => {
    await using engine = await openEngine({ tls: server });
    const hello = await clientHello();
    await Promise.all(
      [engine.address, engine.running.httpAddress ?? ''].map(async (address) => {
        await using peer = await attack(address);
        const answered = new Promise((resolve) => peer.socket.once('data', resolve));
        peer.socket.write(hello);
        // The engine has said its part, and hears nothing more. The runner's bound is shorter than Node's own of two minutes.
        await answered;
        await peer.closed;
      }),
    );
  });

  it('9.2: takes no version below 1.2', async () => {
    await using engine = await openEngine({ tls: server });
    for (const address of [engine.address, engine.running.httpAddress ?? '']) {
      const [host = '', port] = address.split(':');
      const socket = connect({
        host,
        port: Number(port),
        ca: authority.pem,
        maxVersion: 'TLSv1.1',
        minVersion: 'TLSv1',
      });
      const error = await new Promise<Error>((resolve) => socket.on('error', resolve));
      expect(error.message).toMatch(/ssl|tls/i);
    }
  });

  it('9.2: serves a renewed certificate to new connections, and keeps the old one while files do not fit', async () => {
    const live = { certificate: join(directory, 'live.crt'), key: join(directory, 'live.key') };
    await copyFile(server.certificate, live.certificate);
    await copyFile(server.key, live.key);
    await using engine = await openEngine({ tls: { ...live, recheckMs: 5 } });
    const kept = openClient(engine.address, { channel: channel() });
    await kept.call(method.listTools, {});
    const renewed = await authority.sign('renewed');
    const seen = async (name: string, event: string): Promise<void> => {
      while (!engine.reports.some((report) => report.event === event))
        await statusOverHttp(engine.running.httpAddress ?? '');
      for (const address of [engine.address, engine.running.httpAddress ?? ''])
        expect([address, await nameShown(address)]).toEqual([address, name]);
    };
    await copyFile(renewed.certificate, live.certificate);
    await seen('server', 'tls_not_reloaded');
    await copyFile(renewed.key, live.key);
    await seen('renewed', 'tls_reloaded');
    await kept.call(method.listTools, {});
    kept.close();
  });

  it('9.1: with credentials may be reached from other machines, and needs no --insecure', async () => {
    const certificates = table({ common_name: 'shop', role: 'client', tenant: 'acme' });
    const tls = { ...server, clientAuthority: authority.certificate };
    const options = { listen: '0.0.0.0:0', http: false as const, tls };
    await expect(openEngine(options)).rejects.toThrow('nobody is asked who they are');
    await using engine = await openEngine({ ...options, certificates });
    expect(engine.reports.map(({ event }) => event)).not.toContain('insecure_listen');
    const plain = openEngine({ listen: '0.0.0.0:0', http: false, certificates });
    await expect(plain).rejects.toThrow('in plain text');
    await using meant = await openEngine({ listen: '0.0.0.0:0', http: false, certificates, insecure: true });
    expect(meant.reports.filter(({ event }) => event === 'insecure_listen')).toHaveLength(1);
  });

  it.each([
    ['that is not there', { certificate: '/nowhere.crt', key: '/nowhere.key' }],
    ['of another key', { certificate: 'server', key: 'stranger' }],
  ])('an engine does not start with a certificate %s', async (_what, { certificate, key }) => {
    const file = (name: string, kind: string): string =>
      name.startsWith('/') ? name : join(directory, `${name}.${kind}`);
    const tls = { certificate: file(certificate, 'crt'), key: file(key, 'key') };
    await expect(openEngine({ tls })).rejects.toMatchObject({ kind: 'option' });
  });
});

describe('a client’s certificate', () => {
  it('9.2: makes the caller that the table says, by name, alternative name or fingerprint', async () => {
    const worker = await authority.sign('worker', { alternativeName: 'URI:spiffe://example/worker' });
    const shop = await authority.sign('shop');
    await using engine = await openEngine({
      tls: { ...server, clientAuthority: authority.certificate },
      certificates: table(
        { alternative_name: 'URI:spiffe://example/worker', role: 'worker', tenant: 'acme', tools: ['t'] },
        { common_name: 'shop', role: 'client', tenant: 'acme' },
      ),
    });
    const serving = await connectWorker(engine.address, helloOf([{ name: 't' }, { name: 'u' }]), {
      channel: channel(worker),
    });
    expect(serving.welcome.refusedTools.map(({ name }) => name)).toEqual(['u']);
    const client = openClient(engine.address, { channel: channel(shop) });
    await client.call(method.startCall, { call: { name: 't', callId: 'c' } });
    await serving.work('c');
    expect(await statusOverHttp(engine.running.httpAddress ?? '', shop.pem)).toBe(200);
    serving.vanish();
    client.close();
  });

  it('9.2: is no good where the table does not name it, where a stranger signed it, or beside a bad token', async () => {
    const shop = await authority.sign('shop');
    const other = await authority.sign('other', { commonName: 'other' });
    const forged = await stranger.sign('forged', { commonName: 'shop' });
    await using engine = await openEngine({
      tls: { ...server, clientAuthority: authority.certificate },
      certificates: table({ common_name: 'shop', role: 'client', tenant: 'acme' }),
    });
    const reasonOf = async (signed: Signed | undefined, token?: string) => {
      const client = openClient(engine.address, { channel: channel(signed), token });
      const { code } = await client.refused(method.listTools, {}, 5_000);
      client.close();
      return code;
    };
    expect(await reasonOf(undefined)).toBe('UNAUTHENTICATED');
    expect(await reasonOf(other)).toBe('UNAUTHENTICATED');
    expect(await reasonOf(forged)).toBe('UNAUTHENTICATED');
    expect(await reasonOf(shop, 'spindle_bad.token')).toBe('UNAUTHENTICATED');
  });

  it('9.2: serves the SDK’s client and worker', async () => {
    const worker = await authority.sign('worker');
    const shop = await authority.sign('shop');
    await using engine = await openEngine({
      tls: { ...server, clientAuthority: authority.certificate },
      certificates: table(
        { common_name: 'worker', role: 'worker', tenant: 'acme' },
        { common_name: 'shop', role: 'client', tenant: 'acme' },
      ),
    });
    const { address } = engine;
    const tlsOf = ({ pem }: Signed) => ({
      authority: authority.pem,
      certificate: pem.certificate,
      key: pem.key,
    });
    const tool = defineTool({ name: 'greet', description: 'Greets.', execute: () => 'hello' });
    const running = createWorker({
      address,
      tls: tlsOf(worker),
      tools: [tool],
      signals: [],
      onStatus: () => undefined,
    });
    const ended = running.run();
    await running.ready;
    await using client = createClient({ address, tls: tlsOf(shop) });
    expect(await client.call('greet')).toMatchObject({ ok: true, text: 'hello' });
    await using nobody = createClient({ address, tls: { authority: authority.pem } });
    await expect(nobody.get('x')).rejects.toBeInstanceOf(SpindleError);
    await running.stop();
    await ended;
  });

  it.each([
    ['two names', { common_name: 'a', alternative_name: 'b', role: 'client', tenant: 'acme' }],
    ['no name', { role: 'client', tenant: 'acme' }],
    ['no tenant', { common_name: 'a', role: 'client' }],
    ['another role', { common_name: 'a', role: 'administrator', tenant: 'acme' }],
    ['a fingerprint that is none', { fingerprint: 'ab:cd', role: 'client', tenant: 'acme' }],
  ])('an entry of the table is refused with %s', (_what, entry) => {
    expect(CertificatesSchema.safeParse([entry]).success).toBe(false);
  });
});

/** What a client of TLS says first. */
function clientHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const listener = createServer((socket) => {
      socket.once('data', (bytes) => {
        socket.destroy();
        listener.close();
        resolve(bytes);
      });
    });
    listener.listen(0, '127.0.0.1', () => {
      const bound = listener.address();
      const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
      const client = connect({ host: '127.0.0.1', port, ALPNProtocols: ['h2', 'http/1.1'] });
      client.on('error', () => client.destroy());
    });
  });
}

/** The common name in the certificate that a port shows. */
function nameShown(address: string): Promise<string> {
  const [host = '', port] = address.split(':');
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host, port: Number(port), ca: authority.pem, ALPNProtocols: ['h2', 'http/1.1'] },
      () => {
        const name: unknown = socket.getPeerCertificate().subject.CN;
        socket.destroy();
        resolve(String(name));
      },
    );
    socket.on('error', reject);
  });
}
