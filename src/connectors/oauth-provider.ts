import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import type { CredentialStore } from './credential-store.ts';
import type { ConnectorAuth } from './options.ts';

type AuthorizationCode = Extract<ConnectorAuth, { kind: 'authorization_code' }>;
type ClientCredentials = Extract<ConnectorAuth, { kind: 'client_credentials' }>;

/** Only a person can go on: the credentials that a login left are missing, or not accepted any more. */
export class LoginRequiredError extends Error {
  override readonly name = 'LoginRequiredError';
}

/** A service that has credentials of its own. */
export async function clientCredentials(auth: ClientCredentials): Promise<OAuthClientProvider> {
  const { clientId, clientSecret, issuer: expectedIssuer, scope } = auth;
  return new ClientCredentialsProvider({
    clientId,
    clientSecret: await clientSecret(),
    expectedIssuer,
    clientName: 'spindle',
    ...(scope === undefined ? {} : { scope }),
  });
}

/** How a login goes on in a browser; an engine has none. */
export interface Browser {
  readonly redirectUrl: string;
  readonly state: string;
  open(url: URL): void;
}

/** The address that the browser would come back to; a client that registers itself has to name one. */
const NO_BROWSER: Browser = {
  redirectUrl: 'http://127.0.0.1/callback',
  state: '',
  open() {
    throw new LoginRequiredError('the server asks for a login');
  },
};

/** A person who has logged in, or is about to where there is a browser. */
export function authorizationCode(
  auth: AuthorizationCode,
  store: CredentialStore,
  browser: Browser = NO_BROWSER,
): OAuthClientProvider {
  const { clientId, clientSecret, issuer, scope } = auth;
  let verifier = '';
  return {
    redirectUrl: browser.redirectUrl,
    clientMetadata: {
      client_name: 'spindle',
      redirect_uris: [browser.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: clientSecret === undefined ? 'none' : 'client_secret_basic',
      ...(scope === undefined ? {} : { scope }),
    },
    state: () => browser.state,
    async clientInformation() {
      if (clientId === undefined) return (await store.read()).client;
      return {
        client_id: clientId,
        ...(clientSecret === undefined ? {} : { client_secret: await clientSecret() }),
        ...(issuer === undefined ? {} : { issuer }),
      };
    },
    async saveClientInformation(client) {
      if (clientId === undefined) await store.write({ ...(await store.read()), client });
    },
    tokens: async () => (await store.read()).tokens,
    saveTokens: async (tokens) => store.write({ ...(await store.read()), tokens }),
    redirectToAuthorization: (url) => browser.open(url),
    saveCodeVerifier(fresh) {
      verifier = fresh;
    },
    codeVerifier: () => verifier,
    async invalidateCredentials(scopeOfIt) {
      if (scopeOfIt === 'verifier' || scopeOfIt === 'discovery') return;
      const { client } = await store.read();
      await store.write(scopeOfIt === 'tokens' ? { client } : {});
    },
  };
}
