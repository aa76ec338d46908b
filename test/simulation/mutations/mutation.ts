/** A small change to the code that breaks a rule, and that a simulation has to notice. */
export interface Mutation {
  /** What the changed code does. */
  readonly name: string;
  /** The rule that it breaks. */
  readonly rule: string;
  readonly edits: readonly Edit[];
  /** What it takes to see it comes together rarely: so many times the usual number of worlds. */
  readonly rarity?: number;
}

export interface Edit {
  /** From the root of the repository. */
  readonly file: string;
  /** Occurs once in the file, to the letter. */
  readonly find: string;
  readonly replace: string;
}

/** A change in one place. */
export function mutation(rule: string, name: string, file: string, find: string, replace: string): Mutation {
  return { name, rule, edits: [{ file, find, replace }] };
}
