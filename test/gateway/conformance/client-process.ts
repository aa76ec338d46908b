/**
 * A connector as a client that MCP's own conformance suite can look at. The suite appends the address of its server:
 *
 *     npx @modelcontextprotocol/conformance client --suite all \
 *       --command "node test/gateway/conformance/client-process.ts"
 */
import { createConnection, type Opening } from '../../../src/connectors/connection.ts';
import { memoryCredentials } from '../../../src/connectors/credential-store.ts';
import { login } from '../../../src/connectors/login.ts';
import { callServer } from '../../../src/connectors/tool-call.ts';
import { fetchToolList } from '../../../src/connectors/tool-list.ts';
import type { ConnectorAuth } from '../../../src/main.ts';
import { systemClock, systemRandom } from '../../../src/system.ts';

const url = process.argv.at(-1) ?? '';
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context: Readonly<Record<string, string>> = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');
const store = memoryCredentials();
const { client_id: clientId = '', client_secret: secret = '' } = context;

/** An operator would have looked this up once, and written it into the configuration. */
async function issuer(): Promise<string> {
  const { origin, pathname } = new URL(url);
  const metadata = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: servers } = (await metadata.json()) as { authorization_servers: string[] };
  return servers[0] ?? '';
}

async function authFor(): Promise<ConnectorAuth> {
  if (scenario.startsWith('auth/client-credentials'))
    return { kind: 'client_credentials', clientId, clientSecret: () => secret, issuer: await issuer() };
  if (!scenario.startsWith('auth/')) return { kind: 'none' };
  if (clientId === '') return { kind: 'authorization_code' };
  return { kind: 'authorization_code', clientId, clientSecret: () => secret, issuer: await issuer() };
}

const auth = await authFor();
const transport = { kind: 'http', url, allowPrivate: true, auth } as const;

/** The person and the browser of a login. */
async function logIn(): Promise<void> {
  if (auth.kind !== 'authorization_code') return;
  await login({
    transport,
    auth,
    store,
    show: (address) => {
      fetch(address).then(
        (page) => page.body?.cancel(),
        (error: unknown) => process.stderr.write(`${error}\n`),
      );
    },
  });
}

async function open(): Promise<Opening> {
  const connection = createConnection({
    transport,
    store,
    version: '1',
    clock: systemClock(),
    random: systemRandom(),
    opened: () => undefined,
    closed: (reason) => process.stderr.write(`${reason}\n`),
    listChanged: () => undefined,
    refusedRequest: (method) => process.stderr.write(`refused ${method}\n`),
  });
  return connection.open();
}

await logIn();
let opening = await open();
if (opening.kind === 'failed' && auth.kind === 'authorization_code') {
  await logIn();
  opening = await open();
}
if (opening.kind === 'failed') throw new Error(opening.reason);
const { client, transport: opened } = opening.link;
const tools = (await fetchToolList(client)) as readonly { readonly name: string }[];
for (const { name } of tools) {
  const call = {
    serverName: name,
    arguments: '{"a":5,"b":3}',
    traceContext: {},
    signal: new AbortController().signal,
    onProgress: () => undefined,
    words: String,
  };
  let end = await callServer(client, call);
  // What the token's scope does not reach, a person has to log in for again.
  if (end.kind === 'failure' && auth.kind === 'authorization_code') {
    await logIn();
    end = await callServer(client, call);
  }
  process.stdout.write(`${name}: ${end.kind}\n`);
}
await opened.leave().catch(() => undefined);
await client.close();
process.exit(0);
