import { accepted, type Outcome, refused } from '../core/refusal.ts';
import { ANONYMOUS, callerOf } from '../core/rights.ts';
import type { ClientCertificate, Credentials, Identity } from '../engine/ports.ts';
import { ADMINISTRATOR_ID, hashOfKey, readToken, sameHash } from './secret.ts';
import type { Tokens } from './tokens.ts';

export interface CredentialsOptions {
  readonly tokens: Tokens;
  /** Opens the door to administrators: whoever reads the engine's own files. Absent where nothing is on disk. */
  readonly administratorKey?: Uint8Array | undefined;
  /** Verifies what an issuer signed. Absent where none is configured. */
  readonly issued?: ((jwt: string) => Outcome<Identity> | Promise<Outcome<Identity>>) | undefined;
  /** Whose a certificate is; undefined where the table does not name it. Absent where there is no table. */
  readonly certified?: ((certificate: ClientCertificate) => Identity | undefined) | undefined;
}

const BEARER = /^bearer +([\x21-\x7e]+) *$/i;
/** Three parts in base64url: a JWT in its compact form. Tokens of our own have an underscore before their only dot. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Says who asks. What is presented has to be good: a bad token is refused also where a certificate would do. Only an
 * engine that never had a credential asks nobody (9.1).
 */
export function createCredentials(options: CredentialsOptions): Credentials {
  const { tokens, issued, certified, administratorKey } = options;
  const administrator: Identity = {
    caller: callerOf({
      role: 'administrator',
      tenant: '',
      subject: ADMINISTRATOR_ID,
      credentialId: ADMINISTRATOR_ID,
      tools: [],
      agents: [],
    }),
  };
  const administratorHash = administratorKey && hashOfKey(administratorKey);
  const anonymous = accepted<Identity>({ caller: ANONYMOUS });
  const asksNobody = (): boolean => !tokens.configured && issued === undefined && certified === undefined;

  const bearer = (token: string): Outcome<Identity> | Promise<Outcome<Identity>> => {
    const given = readToken(token);
    if (given?.id === ADMINISTRATOR_ID && sameHash(given.hash, administratorHash))
      return accepted(administrator);
    return issued !== undefined && JWT.test(token) ? issued(token) : tokens.identify(token);
  };

  return {
    authenticate({ authorization, certificate }) {
      if (authorization !== undefined) {
        const [, token] = BEARER.exec(authorization) ?? [];
        const identity = token === undefined ? NO_BEARER : bearer(token);
        // What a proxy adds to every request is no reason to refuse one that nobody has to prove.
        return asksNobody() && 'ok' in identity && !identity.ok ? anonymous : identity;
      }
      const shown = certified === undefined ? undefined : certificate();
      const identity = shown && certified?.(shown);
      if (identity !== undefined) return accepted(identity);
      if (asksNobody()) return anonymous;
      return shown === undefined ? MISSING : UNLISTED;
    },
  };
}

const MISSING = refused(
  'unauthenticated',
  'This engine asks for a credential. Send `authorization: Bearer` and a token; `spindle token create` makes one.',
);
const NO_BEARER = refused(
  'unauthenticated',
  'The authorization is no bearer token. Send `authorization: Bearer` and a token.',
);
const UNLISTED = refused(
  'unauthenticated',
  'The certificate is not in the table of this engine. Ask its operator to add it, or send a token.',
);
