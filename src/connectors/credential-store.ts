import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { z } from 'zod';
import { readKept, writeKept } from './kept-file.ts';

/** What a login left, for one connector. */
export interface Credentials {
  readonly client?: OAuthClientInformationMixed | undefined;
  readonly tokens?: OAuthTokens | undefined;
}

/** Where the credentials of a login are kept. */
export interface CredentialStore {
  read(): Promise<Credentials>;
  write(credentials: Credentials): Promise<void>;
}

/** As the SDK made them; it knows more members than it checks. */
const CredentialsSchema = z.object({
  client: z.looseObject({ client_id: z.string() }).optional(),
  tokens: z.looseObject({ access_token: z.string(), token_type: z.string() }).optional(),
});

/** In a file that its owner alone can read. `spindle connectors login` writes it, and an engine that refreshes. */
export function fileCredentials(path: string): CredentialStore {
  return {
    async read() {
      const parsed = CredentialsSchema.safeParse((await readKept(path)) ?? {});
      if (!parsed.success) throw new Error(`${path} holds no credentials; remove it and log in again`);
      return parsed.data as Credentials;
    },
    write: (credentials) => writeKept(path, credentials),
  };
}

/** In memory, for an engine that keeps nothing. */
export function memoryCredentials(): CredentialStore {
  let kept: Credentials = {};
  return {
    read: async () => kept,
    async write(credentials) {
      kept = credentials;
    },
  };
}
