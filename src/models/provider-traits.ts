import type { ProviderKind } from './provider-settings.ts';

/** Where a picture, a sound or a document of a tool's result goes. */
export type MediaPlace =
  /** In the result. */
  | 'result'
  /** In a message of the user behind the results: results are text. */
  | 'user_message';

/** What a kind of provider takes beyond schemas, and where. */
export interface ProviderTraits {
  /** What names of tools have to match (6.6). */
  readonly toolName: RegExp;
  /** What ids of calls have to match (6.5). */
  readonly callId: RegExp;
  /** Media types that the model reads, in results and in messages of the user. */
  readonly media: ReadonlySet<string>;
  readonly mediaPlace: MediaPlace;
  /** The provider has a form of its own for results that are errors. */
  readonly errorForm: boolean;
  /** A conversation has to begin with the user. */
  readonly startsWithUser: boolean;
  /** Instructions in the middle of a conversation are taken as such. */
  readonly laterInstructions: boolean;
  /** A request whose history holds calls has to define tools. */
  readonly definesCalledTools: boolean;
  /** Tools may be grouped under a name. */
  readonly namespaces: boolean;
  /** Tools of one request that may be strict. */
  readonly maxStrictTools: number;
  /** Where the provider's library keeps what belongs to this provider in metadata and options. */
  readonly namespace: string;
}

const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const PDF = 'application/pdf';
const NAME = /^[\w-]{1,64}$/;

const COMMON: Omit<ProviderTraits, 'namespace'> = {
  toolName: NAME,
  callId: /^[\w-]{1,64}$/,
  media: new Set([...PICTURES, PDF]),
  mediaPlace: 'result',
  errorForm: true,
  startsWithUser: false,
  laterInstructions: true,
  definesCalledTools: false,
  namespaces: false,
  maxStrictTools: Number.POSITIVE_INFINITY,
};

/** The traits of a kind of provider. `name` is the provider's name in the configuration. */
export function traitsOf(kind: ProviderKind, name: string): ProviderTraits {
  switch (kind) {
    case 'anthropic':
      return {
        ...COMMON,
        namespace: 'anthropic',
        startsWithUser: true,
        laterInstructions: false,
        definesCalledTools: true,
        // https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs, "Schema complexity limits".
        maxStrictTools: 20,
      };
    case 'openai':
      return { ...COMMON, namespace: 'openai', namespaces: true };
    case 'openai-chat':
      return {
        ...COMMON,
        namespace: 'openai',
        // The API of chat completions takes no longer id.
        callId: /^[\w-]{1,40}$/,
        media: new Set([...PICTURES, PDF, 'audio/wav', 'audio/mpeg', 'audio/mp3']),
        mediaPlace: 'user_message',
      };
    case 'openai-compatible':
      return {
        ...COMMON,
        namespace: camelCase(name),
        // Servers use ids of many shapes, and some read them: functions.name:0, say.
        callId: /^[\x21-\x7e]{1,128}$/,
        media: new Set(PICTURES),
        mediaPlace: 'user_message',
        errorForm: false,
      };
    case 'google':
      return {
        ...COMMON,
        namespace: 'google',
        toolName: /^[A-Za-z_][\w-]{0,63}$/,
        media: new Set(['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif', PDF, ...SOUNDS]),
        startsWithUser: true,
        laterInstructions: false,
      };
  }
}

const SOUNDS = ['audio/wav', 'audio/mp3', 'audio/mpeg', 'audio/aiff', 'audio/aac', 'audio/ogg', 'audio/flac'];

/** As the library of compatible providers names the options of one. */
function camelCase(name: string): string {
  return name.replaceAll(/[-_]+(\w)?/g, (_, letter: string | undefined) => letter?.toUpperCase() ?? '');
}
