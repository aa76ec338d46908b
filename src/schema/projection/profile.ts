/** What a model provider takes of JSON Schema in the definition of a tool (2.6). */
export interface Profile {
  /** For people: `openai, strict`. */
  readonly name: string;
  /** Assertions that it takes; others are projected away. Undefined: every keyword of 2020-12. */
  readonly keywords: ReadonlySet<string> | undefined;
  /** Formats that it takes; undefined: any. */
  readonly formats: ReadonlySet<string> | undefined;
  /** The root is one object: no union, reference or condition stands there. */
  readonly plainRoot: boolean;
  /** Other keywords may stand beside a reference. */
  readonly besideReference: boolean;
  /** A schema may lead back to itself. */
  readonly recursion: boolean;
  /** A list of items by place may be said; otherwise each item is one of them. */
  readonly tuples: boolean;
  /** An array has to say what its items are. */
  readonly itemsRequired: boolean;
  /** Looking ahead or behind in a pattern is taken. */
  readonly lookaround: boolean;
  /** Values of `enum` may be other than strings and numbers. */
  readonly anyEnum: boolean;
  /** The largest value of `minItems`. */
  readonly maxMinItems: number;
  /** What the name of a property at the root has to match; undefined: anything. */
  readonly propertyNames: RegExp | undefined;
  /** A required name has to be one of the properties. */
  readonly requiredDeclared: boolean;
  /** The form in which the provider enforces the schema while it samples; undefined: none. */
  readonly strict: StrictForm | undefined;
}

/** Every object is closed in a strict form, and every value has a type. */
export interface StrictForm {
  /** Each property is required, and an optional one says so by taking null. */
  readonly nullForAbsent: boolean;
  readonly maxDepth: number;
  readonly maxProperties: number;
  readonly maxEnumValues: number;
  /** Properties that are not required. */
  readonly maxOptional: number;
}

const EVERYTHING: Omit<Profile, 'name'> = {
  keywords: undefined,
  formats: undefined,
  plainRoot: true,
  besideReference: true,
  recursion: true,
  tuples: true,
  itemsRequired: false,
  lookaround: true,
  anyEnum: true,
  maxMinItems: Number.POSITIVE_INFINITY,
  propertyNames: undefined,
  requiredDeclared: false,
  strict: undefined,
};

const STRUCTURE = ['type', 'enum', 'properties', 'required', 'items', 'additionalProperties', 'anyOf'];
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const SUBSET_FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];

/** https://docs.anthropic.com/en/api/messages, `tools.input_schema`. */
const anthropic: Profile = { ...EVERYTHING, name: 'anthropic', propertyNames: /^[\w.-]{1,64}$/ };

/** https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs, "JSON Schema limitations". */
const anthropicStrict: Profile = {
  ...anthropic,
  name: 'anthropic, strict',
  keywords: new Set([...STRUCTURE, 'const', 'allOf', 'pattern', 'format', 'minItems']),
  formats: new Set([...SUBSET_FORMATS, 'uri']),
  besideReference: false,
  recursion: false,
  tuples: false,
  lookaround: false,
  maxMinItems: 1,
  strict: {
    nullForAbsent: false,
    maxDepth: 64,
    maxProperties: 5_000,
    maxEnumValues: 1_000,
    maxOptional: 24,
  },
};

/** https://platform.openai.com/docs/guides/function-calling; what its API answers to other schemas. */
const openai: Profile = {
  ...EVERYTHING,
  name: 'openai',
  keywords: new Set([
    ...STRUCTURE,
    ...NUMBERS,
    ...['const', 'allOf', 'oneOf', 'not', 'pattern', 'format', 'minLength', 'maxLength', 'minItems'],
    ...['maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'patternProperties'],
  ]),
  tuples: false,
  itemsRequired: true,
  lookaround: false,
};

/** https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas". */
const openaiStrict: Profile = {
  ...openai,
  name: 'openai, strict',
  keywords: new Set([...STRUCTURE, ...NUMBERS, 'const', 'pattern', 'format', 'minItems', 'maxItems']),
  formats: new Set(SUBSET_FORMATS),
  besideReference: false,
  requiredDeclared: true,
  strict: { nullForAbsent: true, maxDepth: 10, maxProperties: 5_000, maxEnumValues: 1_000, maxOptional: 0 },
};

/** https://ai.google.dev/api/caching#FunctionDeclaration, `parametersJsonSchema`, and "JSON Schema support". */
const google: Profile = {
  ...EVERYTHING,
  name: 'google',
  keywords: new Set([
    ...STRUCTURE,
    ...['oneOf', 'format', 'minItems', 'maxItems', 'minimum', 'maximum', 'prefixItems'],
  ]),
  besideReference: false,
  anyEnum: false,
  requiredDeclared: true,
};

/** Kinds of providers, as the configuration names them. */
export type ProfileKind = 'anthropic' | 'openai' | 'openai-chat' | 'openai-compatible' | 'google';

/** The profile of a kind of provider for a tool; strict where the tool asks for it and the provider has such a form. */
export function profileOf(kind: ProfileKind, strict: boolean): Profile {
  switch (kind) {
    case 'anthropic':
      return strict ? anthropicStrict : anthropic;
    case 'openai':
    case 'openai-chat':
      return strict ? openaiStrict : openai;
    case 'openai-compatible':
      return strict ? { ...openaiStrict, name: `${kind}, strict` } : { ...openai, name: kind };
    case 'google':
      return google;
  }
}
