/** The member of Part.provider_metadata_json that is Spindle's own. No provider has one of this name. */
export const OWN_NAMESPACE = 'spindle';

/** What Spindle itself keeps on a part, beside what the provider attached. */
export interface OwnMetadata {
  /** The provider of the configuration that wrote the part. */
  readonly provider?: string;
  /** The id that this provider gave the call, where ours is another (6.5). */
  readonly callId?: string;
  /** The call was made under a form in which the model writes null for what it leaves out (2.6). */
  readonly nullForAbsent?: boolean;
}

/** Reads what is Spindle's own of Part.provider_metadata_json. Text that a decision wrote, and that is none, holds nothing. */
export function ownMetadata(json: string): OwnMetadata {
  const { provider, callId, nullForAbsent } = asObject(readMetadata(json)[OWN_NAMESPACE]);
  return {
    ...(typeof provider === 'string' ? { provider } : {}),
    ...(typeof callId === 'string' ? { callId } : {}),
    ...(nullForAbsent === true ? { nullForAbsent } : {}),
  };
}

/** The members of Part.provider_metadata_json that are objects, as all that providers attach are. */
export function readMetadata(json: string): Readonly<Record<string, object>> {
  if (json === '') return {};
  try {
    const members = Object.entries(asObject(JSON.parse(json)));
    return Object.fromEntries(members.filter((member): member is [string, object] => isObject(member[1])));
  } catch {
    return {};
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? (value as Readonly<Record<string, unknown>>) : {};
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
