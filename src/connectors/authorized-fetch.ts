import {
  auth as authorize,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
} from '@modelcontextprotocol/sdk/client/auth.js';
import type { CredentialStore } from './credential-store.ts';
import type { Fetch } from './guarded-fetch.ts';
import { authorizationCode, clientCredentials, LoginRequiredError } from './oauth-provider.ts';
import type { ConnectorAuth } from './options.ts';

export interface AuthorizedFetchOptions {
  readonly url: URL;
  readonly auth: ConnectorAuth;
  readonly store: CredentialStore;
  readonly fetch: Fetch;
  /** Told every credential that is used, so that it can be kept out of whatever the server says. */
  readonly onSecret: (secret: string) => void;
}

/**
 * Adds what the server knows us by, to requests of its own origin alone. Where tokens run out, one request gets new
 * ones and the others wait for it: a refresh token that is used twice costs the login.
 */
export function authorizedFetch({ url, auth, store, fetch, onSecret }: AuthorizedFetchOptions): Fetch {
  if (auth.kind === 'none') return fetch;
  if (auth.kind === 'token') {
    const { token, header } = auth;
    return async (input, init = {}) => {
      if (new URL(input).origin !== url.origin) return fetch(input, init);
      const secret = (await token()).trim();
      onSecret(secret);
      const headers = new Headers(init.headers);
      headers.set(header ?? 'authorization', header === undefined ? `Bearer ${secret}` : secret);
      return fetch(input, { ...init, headers });
    };
  }

  const loading: Promise<OAuthClientProvider> =
    auth.kind === 'client_credentials'
      ? clientCredentials(auth)
      : Promise.resolve(authorizationCode(auth, store));
  // Whoever needs it is told.
  loading.catch(() => undefined);
  let renewing: Promise<void> | undefined;

  const accessToken = async (provider: OAuthClientProvider): Promise<string | undefined> => {
    const tokens = await provider.tokens();
    for (const secret of [tokens?.access_token, tokens?.refresh_token])
      if (secret !== undefined) onSecret(secret);
    return tokens?.access_token;
  };

  /** Gets tokens in place of those that were refused, unless somebody else has got some meanwhile. */
  const renew = async (
    provider: OAuthClientProvider,
    refused: string | undefined,
    answer: Response,
  ): Promise<void> => {
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(answer);
    const renewal = async (): Promise<void> => {
      if ((await accessToken(provider)) !== refused) return;
      // Without a login there is nothing to refresh, and no client is registered for nothing.
      if (auth.kind === 'authorization_code' && (await provider.tokens())?.refresh_token === undefined)
        throw new LoginRequiredError('the server asks for a login');
      await authorize(provider, {
        serverUrl: url,
        fetchFn: fetch,
        ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
        ...(scope === undefined ? {} : { scope }),
      });
    };
    renewing ??= renewal().finally(() => {
      renewing = undefined;
    });
    await renewing;
  };

  return async (input, init = {}) => {
    if (new URL(input).origin !== url.origin) return fetch(input, init);
    const provider = await loading;
    const attempt = async (): Promise<readonly [Response, string | undefined]> => {
      const token = await accessToken(provider);
      const headers = new Headers(init.headers);
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
      return [await fetch(input, { ...init, headers }), token];
    };
    const [answer, token] = await attempt();
    if (!asksForMore(answer)) return answer;
    await answer.body?.cancel();
    await renew(provider, token, answer);
    const [second] = await attempt();
    return second;
  };
}

/** No token, one that ran out, or one whose scope does not reach (RFC 6750, section 3.1). */
function asksForMore(answer: Response): boolean {
  if (answer.status === 401) return true;
  return answer.status === 403 && extractWWWAuthenticateParams(answer).error === 'insufficient_scope';
}
