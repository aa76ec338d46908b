import { createHash, randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type Exchange, type ScriptedServer, scriptedServer } from './scripted-server.ts';

export interface ProtectedServer {
  readonly issuer: string;
  readonly mcp: ScriptedServer;
  /** The grants so far, in order. */
  readonly grants: readonly string[];
  /** Makes every access token invalid, as time does. */
  expire(): void;
  /** Makes every refresh token invalid as well, as an administrator does. */
  revoke(): void;
}

/** A client that the authorization server knows. */
export const KNOWN_CLIENT = { id: 'engine', secret: 'engine-secret' };

/** An MCP server that wants tokens, and the authorization server that gives them (RFC 6749, 7591, 7636, 8414, 9728). */
export async function protectedServer(): Promise<ProtectedServer> {
  const grants: string[] = [];
  const codes = new Map<string, string>();
  let access = new Set<string>();
  let refresh = new Set<string>();

  const tokens = () => {
    const answer = {
      access_token: `at-${randomUUID()}`,
      refresh_token: `rt-${randomUUID()}`,
      token_type: 'Bearer',
    };
    access.add(answer.access_token);
    refresh.add(answer.refresh_token);
    return answer;
  };
  const send = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const grant = (form: URLSearchParams, authorization: string | undefined): unknown => {
    const kind = form.get('grant_type') ?? '';
    grants.push(kind);
    switch (kind) {
      case 'authorization_code': {
        const challenge = codes.get(form.get('code') ?? '');
        const verifier = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        return challenge === verifier ? tokens() : undefined;
      }
      case 'refresh_token':
        // Each is good for once, as OAuth 2.1 wants it.
        return refresh.delete(form.get('refresh_token') ?? '') ? tokens() : undefined;
      case 'client_credentials': {
        const expected = Buffer.from(`${KNOWN_CLIENT.id}:${KNOWN_CLIENT.secret}`).toString('base64');
        return authorization === `Basic ${expected}` ? tokens() : undefined;
      }
      default:
        return undefined;
    }
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', issuer);
    switch (url.pathname) {
      case '/.well-known/oauth-authorization-server':
        return send(response, 200, {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          registration_endpoint: `${issuer}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
        });
      case '/register': {
        const asked = JSON.parse(await text(request));
        return send(response, 201, { ...asked, client_id: `client-${randomUUID()}` });
      }
      case '/authorize': {
        const code = randomUUID();
        codes.set(code, url.searchParams.get('code_challenge') ?? '');
        const back = new URL(url.searchParams.get('redirect_uri') ?? '');
        back.searchParams.set('code', code);
        back.searchParams.set('state', url.searchParams.get('state') ?? '');
        response.writeHead(302, { location: back.href }).end();
        return;
      }
      case '/token': {
        const answer = grant(new URLSearchParams(await text(request)), request.headers.authorization);
        if (answer === undefined) return send(response, 400, { error: 'invalid_grant' });
        return send(response, 200, answer);
      }
      default:
        return send(response, 404, {});
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const mcp = await scriptedServer({
    first({ request, status }: Exchange) {
      const [, token = ''] = /^Bearer (.*)$/.exec(request.headers.authorization ?? '') ?? [];
      if (access.has(token)) return false;
      const metadata = `${new URL(mcp.url).origin}/.well-known/oauth-protected-resource/mcp`;
      status(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` });
      return true;
    },
    get({ url = '' }, response) {
      if (!url.startsWith('/.well-known/oauth-protected-resource')) return false;
      send(response, 200, { resource: mcp.url, authorization_servers: [issuer] });
      return true;
    },
  });
  return {
    issuer,
    mcp,
    grants,
    expire() {
      access = new Set();
    },
    revoke() {
      access = new Set();
      refresh = new Set();
    },
  };
}
