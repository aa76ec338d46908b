import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { OWN_NAMESPACE, type OwnMetadata, readMetadata } from '../core/own-metadata.ts';

/** The text of Part.provider_metadata_json; empty where there is nothing to keep. */
export function metadataJson(provider: SharedV4ProviderMetadata | undefined, own: OwnMetadata = {}): string {
  const kept = Object.keys(own).length === 0 ? {} : { [OWN_NAMESPACE]: own };
  const all = { ...provider, ...kept };
  return Object.keys(all).length === 0 ? '' : JSON.stringify(all);
}

/** What the provider attached to a part, to be sent back as it came. */
export function providerMetadata(json: string): SharedV4ProviderMetadata {
  const { [OWN_NAMESPACE]: _, ...provider } = readMetadata(json);
  // It is JSON that was read: what the library wrote, or what a decision did.
  return provider as SharedV4ProviderMetadata;
}
