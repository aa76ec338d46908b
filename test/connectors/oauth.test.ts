import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { start } from '../cli/spindle.ts';
import { connectedEngine } from './connected-engine.ts';
import { KNOWN_CLIENT, type ProtectedServer, protectedServer } from './oauth-server.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'spindle-oauth-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

describe('a server that wants client credentials', () => {
  const engineAt = ({ mcp, issuer }: ProtectedServer, clientSecret = () => KNOWN_CLIENT.secret) =>
    connectedEngine({
      s: {
        transport: {
          kind: 'http',
          url: mcp.url,
          allowPrivate: true,
          auth: { kind: 'client_credentials', clientId: KNOWN_CLIENT.id, clientSecret, issuer },
        },
      },
    });

  it('gives a token for them, and another one when that runs out', async () => {
    const server = await protectedServer();
    const { client } = await engineAt(server);
    expect(await client.call('s__work', {})).toMatchObject({ ok: true });
    server.expire();
    expect(await client.call('s__work', {})).toMatchObject({ ok: true });
    expect(server.grants).toEqual(['client_credentials', 'client_credentials']);
  });

  it('is asked once by calls that run out of their token together', async () => {
    const server = await protectedServer();
    const { client } = await engineAt(server);
    await client.call('s__work', {});
    server.expire();
    const ends = await Promise.all(Array.from({ length: 10 }, () => client.call('s__work', {})));
    expect(ends.every(({ ok }) => ok)).toBe(true);
    expect(server.grants).toHaveLength(2);
  });

  it('9.4: refuses wrong ones, which is said without them', async () => {
    const { engine, reported } = await engineAt(await protectedServer(), () => 'wrong-secret');
    expect(await reported('connector_failed')).toMatchObject({ connector: 's' });
    expect(JSON.stringify(engine.reports)).not.toContain('wrong-secret');
  });
});

describe('a server that wants a login', () => {
  /** `spindle connectors login`, and a browser that follows the address which it prints. */
  async function logIn(config: string) {
    await using running = start(['connectors', 'login', 'mail', '--config', config]);
    const [, address = ''] = await running.says(/^(http:\S+authorize\S+)$/m);
    const page = await fetch(address);
    return { page, ended: await running.ended };
  }

  async function configure({ mcp }: ProtectedServer) {
    const path = await folder();
    const config = join(path, 'spindle.toml');
    const journal = `sqlite:${join(path, 'spindle.db')}`;
    await writeFile(
      config,
      `journal = "${journal}"\n[connectors.mail]\nurl = "${mcp.url}"\nprivate = true\nauth = "authorization_code"\n`,
    );
    const credentials = join(path, 'connectors/mail.credentials.json');
    const open = () =>
      connectedEngine(
        {
          mail: {
            transport: {
              kind: 'http',
              url: mcp.url,
              allowPrivate: true,
              auth: { kind: 'authorization_code' },
            },
          },
        },
        { journal },
      );
    return { config, credentials, open };
  }

  it('serves an engine after one, and keeps the tokens where only their owner reads them', async () => {
    const server = await protectedServer();
    const { config, credentials, open } = await configure(server);
    const { page, ended } = await logIn(config);
    expect(page.status).toBe(200);
    expect(ended).toMatchObject({ code: 0 });
    expect((await stat(credentials)).mode & 0o777).toBe(0o600);
    const { client } = await open();
    expect(await client.call('mail__work', {})).toMatchObject({ ok: true });
  });

  it('refreshes tokens that ran out, once for all calls', async () => {
    const server = await protectedServer();
    const { config, credentials, open } = await configure(server);
    await logIn(config);
    const { client, engine } = await open();
    await client.call('mail__work', {});
    server.expire();
    const ends = await Promise.all(Array.from({ length: 5 }, () => client.call('mail__work', {})));
    expect(ends.every(({ ok }) => ok)).toBe(true);
    expect(server.grants).toEqual(['authorization_code', 'refresh_token']);
    const kept = JSON.parse(await readFile(credentials, 'utf8'));
    expect(JSON.stringify(engine.reports)).not.toContain(kept.tokens.refresh_token);
  });

  it('says that a login is missing, or has been taken back', async () => {
    const server = await protectedServer();
    const { config, open } = await configure(server);
    const { client, reported } = await open();
    expect(await reported('connector_failed')).toMatchObject({
      reason: expect.stringMatching(/spindle connectors login/),
    });
    await logIn(config);
    expect(await client.call('mail__work', {})).toMatchObject({ ok: true });
    server.revoke();
    expect(await client.call('mail__work', {})).toMatchObject({
      ok: false,
      error: { code: 'connector_error', message: expect.stringMatching(/login/) },
    });
  });
});
