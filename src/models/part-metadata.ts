import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';

/** What Spindle itself keeps on a part, beside what the provider attached. */
export interface OwnMetadata {
  /** The provider of the configuration that wrote the part. */
  readonly provider?: string;
  /** The id that this provider gave the call, where ours is another (6.5). */
  readonly callId?: string;
  /** The call was made under a form in which the model writes null for what it leaves out (2.6). */
  readonly nullForAbsent?: boolean;
}

/** Our own member of a part's metadata. No provider's library has options of this name. */
export const OWN_NAMESPACE = 'spindle';

/** The text of Part.provider_metadata_json; empty where there is nothing to keep. */
export function metadataJson(provider: SharedV4ProviderMetadata | undefined, own: OwnMetadata = {}): string {
  const kept = Object.keys(own).length === 0 ? {} : { [OWN_NAMESPACE]: own };
  const all = { ...provider, ...kept };
  return Object.keys(all).length === 0 ? '' : JSON.stringify(all);
}

export interface PartMetadata {
  /** What the provider attached, to be sent back as it came. */
  readonly provider: SharedV4ProviderMetadata;
  readonly own: OwnMetadata;
}

/** Reads Part.provider_metadata_json. Text that a decision wrote and that is no such object holds nothing. */
export function partMetadata(json: string): PartMetadata {
  const { [OWN_NAMESPACE]: own, ...provider } = readObject(json);
  return { provider: provider as SharedV4ProviderMetadata, own: ownOf(own) };
}

function readObject(json: string): Record<string, unknown> {
  if (json === '') return {};
  try {
    const value: unknown = JSON.parse(json);
    if (!isObject(value)) return {};
    return Object.fromEntries(Object.entries(value).filter(([, member]) => isObject(member)));
  } catch {
    return {};
  }
}

function ownOf(value: unknown): OwnMetadata {
  if (!isObject(value)) return {};
  const { provider, callId, nullForAbsent } = value;
  return {
    ...(typeof provider === 'string' ? { provider } : {}),
    ...(typeof callId === 'string' ? { callId } : {}),
    ...(nullForAbsent === true ? { nullForAbsent } : {}),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
