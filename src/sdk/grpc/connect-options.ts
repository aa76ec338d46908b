/** Where an engine listens if nobody says otherwise. */
export const DEFAULT_ADDRESS = '127.0.0.1:7433';

/** A certificate authority, and a client's certificate where the engine asks for one (9.2). PEM. */
export interface TlsOptions {
  /** The authority that signed the engine's certificate; the system's own where it is not given. */
  readonly authority?: Uint8Array;
  readonly certificate?: Uint8Array;
  readonly key?: Uint8Array;
}

/** How to reach an engine, and as whom. */
export interface ConnectOptions {
  /** `host:port`. 127.0.0.1:7433 where it is not given: no variable of the environment is read. */
  readonly address?: string;
  /** Without it the connection is plain text. */
  readonly tls?: boolean | TlsOptions;
  /** A bearer token, or what makes one: it is asked again for each connection, so a token may expire (9.2). */
  readonly token?: string | (() => string | Promise<string>);
}
