import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openEngine } from '../engine.ts';
import { endOfStream } from './every-method.ts';
import { openGuardedEngine } from './guarded-engine.ts';

/** What a port answers to a Host header that no browser would let a program choose. */
function ask(
  address: string,
  headers: Record<string, string>,
  path = '/',
): Promise<{ status: number; body: string; headers: object }> {
  const [host, port] = address.split(':');
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path, headers, agent: false }, async (response) => {
      let body = '';
      for await (const part of response) body += part;
      resolve({ status: response.statusCode ?? 0, body, headers: response.headers });
    });
    asked.on('error', reject);
    asked.end();
  });
}

describe('the HTTP port', () => {
  it('9.1: on loopback answers to names of loopback, and to those that are configured', async () => {
    await using engine = await openEngine({ httpHosts: ['spindle.example'] });
    const address = engine.running.httpAddress ?? '';
    const statusOf = async (host: string) => (await ask(address, { host })).status;
    for (const host of ['localhost', address, '[::1]:7434', 'Spindle.Example:80'])
      expect([host, await statusOf(host)]).toEqual([host, 200]);
    for (const host of ['evil.example', '10.0.0.1', 'localhost.evil'])
      expect([host, await statusOf(host)]).toEqual([host, 403]);
  });

  it('9.1: elsewhere answers to addresses, and to no name that a page could have pointed at it', async () => {
    await using engine = await openEngine({ http: '0.0.0.0:0', insecure: true });
    const address = (engine.running.httpAddress ?? '').replace('0.0.0.0', '127.0.0.1');
    expect((await ask(address, { host: '10.0.0.1:7434' })).status).toBe(200);
    expect((await ask(address, { host: 'evil.example' })).status).toBe(403);
  });

  it('9.1: lets no page of another origin read what it answers', async () => {
    await using engine = await openEngine();
    const address = engine.running.httpAddress ?? '';
    const answer = await fetch(`http://${address}/spindle.v1.ToolService/ListTools`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
    expect(answer.status).not.toBe(204);
  });

  it('9.4: says nothing back of what it could not use', async () => {
    await using guarded = await openGuardedEngine();
    const address = guarded.engine.running.httpAddress ?? '';
    const marker = '<script>marker</script>';
    const encoded = encodeURIComponent(marker);
    for (const [path, headers] of [
      [`/${encoded}`, {}],
      [`/spindle.v1.ToolService/${encoded}`, { 'content-type': 'application/json' }],
      ['/', { host: 'marker.example' }],
      ['/mcp', { origin: 'https://marker.example' }],
      ['/mcp', { authorization: 'Bearer marker' }],
    ] as const) {
      const { body } = await ask(address, headers, path);
      expect([path, body]).toEqual([path, expect.not.stringContaining('marker')]);
    }
    for (const body of [`{"${marker}":1}`, `{"call_id":["${marker}"]}`, marker]) {
      const answer = await fetch(`http://${address}/spindle.v1.ToolService/GetCall`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect(await answer.text()).not.toContain('marker');
    }
  });
});

describe('the standard services of the gRPC port', () => {
  const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  const HEALTH = '/grpc.health.v1.Health/Check';

  it('9.1: are there unless they are closed', async () => {
    await using open = await openEngine({ http: false });
    expect((await endOfStream(open.address, REFLECTION, {})).code).toBe('OK');
    expect((await endOfStream(open.address, HEALTH, {})).code).toBe('OK');
    await using closed = await openEngine({ http: false, reflection: false, health: false });
    expect((await endOfStream(closed.address, REFLECTION, {})).code).toBe('UNIMPLEMENTED');
    expect((await endOfStream(closed.address, HEALTH, {})).code).toBe('UNIMPLEMENTED');
  });
});
