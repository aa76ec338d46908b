import type { Millis } from '../core/time.ts';
import type { ProfileKind } from '../schema/projection/profile.ts';

/** The protocols that providers speak. Most others than the first three speak `openai-compatible`. */
export type ProviderKind = ProfileKind;

/** One provider of the configuration. */
export interface ProviderSettings {
  readonly kind: ProviderKind;
  /** Where its API is; undefined: where its maker has it. */
  readonly baseUrl: string | undefined;
  /** The variable that holds the key, for messages; undefined: it needs none. */
  readonly apiKeyEnv: string | undefined;
  /** The key. A function, so that nothing that prints or copies settings prints or copies it. */
  readonly readApiKey: () => string | undefined;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether answers come in pieces. Some servers cannot do that while there are tools. */
  readonly streaming: boolean;
  /** How long one request may take; undefined: as long as the policy of the call allows (4.1). */
  readonly timeoutMs: Millis | undefined;
}
