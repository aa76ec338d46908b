/**
 * A schema as the rest of this folder knows it: one dialect, keywords of that dialect alone, every reference
 * the root or a definition under `$defs`, nothing that annotates. What foreign schemas hold beyond that never
 * reaches the compiler.
 */
export type PlainSchema = boolean | PlainObject;

export interface PlainObject {
  /** `#`, or `#/$defs/` and a name of our own. */
  readonly $ref?: string;
  readonly type?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly multipleOf?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly maxContains?: number;
  readonly minContains?: number;
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly required?: readonly string[];
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>;
  readonly allOf?: readonly PlainSchema[];
  readonly anyOf?: readonly PlainSchema[];
  readonly oneOf?: readonly PlainSchema[];
  readonly not?: PlainSchema;
  readonly if?: PlainSchema;
  readonly then?: PlainSchema;
  readonly else?: PlainSchema;
  readonly properties?: Readonly<Record<string, PlainSchema>>;
  readonly patternProperties?: Readonly<Record<string, PlainSchema>>;
  readonly additionalProperties?: PlainSchema;
  readonly propertyNames?: PlainSchema;
  readonly unevaluatedProperties?: PlainSchema;
  readonly prefixItems?: readonly PlainSchema[];
  readonly items?: PlainSchema;
  readonly contains?: PlainSchema;
  readonly unevaluatedItems?: PlainSchema;
  readonly $defs?: Readonly<Record<string, PlainSchema>>;
}

/** What a reference of a plain schema leads to. */
export function target(root: PlainSchema, reference: string): PlainSchema {
  if (reference === '#') return root;
  const name = reference.slice('#/$defs/'.length);
  const found = typeof root === 'object' ? root.$defs?.[name] : undefined;
  if (found === undefined) throw new Error(`a plain schema refers to ${name}, which it does not define`);
  return found;
}

/** The schemas that apply to the same value as the schema they are in. */
export function inPlace(schema: PlainObject, root: PlainSchema): PlainSchema[] {
  return [
    ...(schema.$ref === undefined ? [] : [target(root, schema.$ref)]),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...[schema.not, schema.if, schema.then, schema.else].filter((inner) => inner !== undefined),
  ];
}

const SINGLE = [
  'not',
  'if',
  'then',
  'else',
  'items',
  'contains',
  'additionalProperties',
  'propertyNames',
  'unevaluatedProperties',
  'unevaluatedItems',
] as const;
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const NAMED = ['$defs', 'properties', 'patternProperties'] as const;

/** The same schema with another in place of each that is right inside it. */
export function mapChildren(schema: PlainObject, map: (inner: PlainSchema) => PlainSchema): PlainObject {
  const copy: { -readonly [Keyword in keyof PlainObject]: PlainObject[Keyword] } = { ...schema };
  for (const keyword of SINGLE) {
    const inner = schema[keyword];
    if (inner !== undefined) copy[keyword] = map(inner);
  }
  for (const keyword of LISTS) {
    const inners = schema[keyword];
    if (inners !== undefined) copy[keyword] = inners.map(map);
  }
  for (const keyword of NAMED) {
    const inners = schema[keyword];
    if (inners !== undefined) {
      copy[keyword] = Object.fromEntries(Object.entries(inners).map(([name, inner]) => [name, map(inner)]));
    }
  }
  return copy;
}

/** The schemas right inside one, definitions included. */
export function children(schema: PlainObject): PlainSchema[] {
  return [
    ...SINGLE.map((keyword) => schema[keyword]),
    ...LISTS.flatMap((keyword) => schema[keyword] ?? []),
    ...NAMED.flatMap((keyword) => Object.values(schema[keyword] ?? {})),
  ].filter((inner) => inner !== undefined);
}
