import type { ConnectorSettings, SecretReference } from '../config/connectors.ts';
import { readSecret } from '../config.ts';

/** The settings of an MCP server as an engine takes them: with ways to its credentials in place of their places. */
export function connectorOptions(settings: ConnectorSettings) {
  const { prefix, tenants, trusted, pinned, max_in_flight: maxInFlight } = settings;
  return {
    transport: transportOf(settings),
    ...present({ prefix, tenants, trusted, pinned, maxInFlight }),
  };
}

function transportOf(settings: ConnectorSettings) {
  const { command, args, directory, environment, url = '', private: allowPrivate } = settings;
  if (command === undefined)
    return { kind: 'http', url, auth: authOf(settings), ...present({ allowPrivate }) } as const;
  const variables =
    environment &&
    Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : secret(value),
      ]),
    );
  return { kind: 'stdio', command, ...present({ args, directory, environment: variables }) } as const;
}

/** What each kind needs is there: the configuration has been checked. */
function authOf({ auth = 'none', token, header, issuer = '', scope, ...settings }: ConnectorSettings) {
  const { client_id: clientId = '', client_secret: clientSecret, redirect_port: redirectPort } = settings;
  switch (auth) {
    case 'none':
      return { kind: 'none' } as const;
    case 'token':
      return { kind: 'token', token: secret(token), ...present({ header }) } as const;
    case 'client_credentials': {
      const known = { clientId, clientSecret: secret(clientSecret), issuer };
      return { kind: 'client_credentials', ...known, ...present({ scope }) } as const;
    }
    case 'authorization_code': {
      const known = settings.client_id === undefined ? {} : { clientId, issuer };
      const own = clientSecret === undefined ? {} : { clientSecret: secret(clientSecret) };
      return { kind: 'authorization_code', ...known, ...own, ...present({ scope, redirectPort }) } as const;
    }
  }
}

function secret(reference: SecretReference | undefined): () => string {
  if (reference === undefined) throw new Error('the configuration was not checked');
  return () => readSecret(reference);
}

type Present<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

function present<T extends object>(value: T): Present<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Present<T>;
}
