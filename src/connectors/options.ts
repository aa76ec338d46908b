/** A credential, read each time it is needed, so that a new one counts from the next connection on. */
export type Secret = () => string | Promise<string>;

/** How an HTTP server knows who asks. */
export type ConnectorAuth =
  | { readonly kind: 'none' }
  /** `Authorization: Bearer`, or the token alone under a header of another name. */
  | { readonly kind: 'token'; readonly token: Secret; readonly header?: string }
  | {
      readonly kind: 'client_credentials';
      readonly clientId: string;
      readonly clientSecret: Secret;
      /** The only authorization server that the credentials are shown to. */
      readonly issuer: string;
      readonly scope?: string;
    }
  /** A person has logged in, with `spindle connectors login`. Without a client id the client registers itself. */
  | {
      readonly kind: 'authorization_code';
      readonly clientId?: string;
      readonly clientSecret?: Secret;
      /** The only authorization server that the credentials are shown to. Required with a client id. */
      readonly issuer?: string;
      readonly scope?: string;
      /** The port of this machine that the browser comes back to; 0, or none given: any free one. */
      readonly redirectPort?: number;
    };

export type ConnectorTransport =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args?: readonly string[];
      readonly directory?: string;
      /** Beside PATH, HOME and a few others, which every server gets. */
      readonly environment?: Readonly<Record<string, string | Secret>>;
    }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly auth?: ConnectorAuth;
      /** Reach addresses of private networks and of this machine, and speak HTTP without TLS. */
      readonly allowPrivate?: boolean;
    };

/** One MCP server. */
export interface ConnectorOptions {
  readonly transport: ConnectorTransport;
  /** Name its tools `id__name`. True where it is not given. */
  readonly prefix?: boolean;
  /** Tenants that may use it. The tenant `default` alone where it is not given. */
  readonly tenants?: readonly string[];
  /** Believe its annotations: what it calls idempotent or read-only is safe to repeat (4.2). */
  readonly trusted?: boolean;
  /** Hold back tools whose definition changed since it was approved. */
  readonly pinned?: boolean;
  /** Calls at once. CONNECTOR_IN_FLIGHT where it is not given. */
  readonly maxInFlight?: number;
}

const ID = /^(?!.*__)[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/i;

/** What is wrong with a connector's id, in words for an operator; undefined where nothing is. */
export function connectorIdFault(id: string): string | undefined {
  if (ID.test(id)) return undefined;
  return 'an id has 1 to 63 letters, digits, - and _, no two _ together, and begins and ends with a letter or a digit';
}
