/** Something in a text that can be a value: what it is, and what stands around it. */
export interface Mention {
  readonly kind: MentionKind;
  /** As it would be handed over as a string. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Its value where it is a number, in the unit that was written. */
  readonly number?: number;
  /** The stem of the word after a number: day in "3 days". */
  readonly unit?: string;
  /** EUR in "5 euros" and "€5". */
  readonly currency?: string;
  /** A date or a time of day in the form of ISO 8601. */
  readonly iso?: string;
  /** The preposition before it, in lower case: to, from, in; `:` where a colon is. */
  readonly cue: string;
  /** The stem of the noun right before it: account in "account 42". */
  readonly label: string;
  /** It goes on with a list that the mention before it began: "Lima" in "Oslo and Lima". */
  readonly joined: boolean;
}

export type MentionKind =
  | 'quoted'
  | 'email'
  | 'url'
  | 'path'
  | 'uuid'
  | 'date'
  | 'time'
  /** A date and a time of day. */
  | 'moment'
  /** A day by its distance from a today that nobody named. */
  | 'relative'
  | 'number'
  /** Capitals, or letters and digits: EUR, INV-42. */
  | 'code'
  | 'statement'
  /** A value that the schema at hand lists. */
  | 'choice'
  | 'name'
  | 'phrase'
  /** The word after a number: km in "5 km". */
  | 'unit'
  /** What follows "saying" or a colon, up to the end. */
  | 'tail';

/** A mention before anybody has looked around it. */
export type Bare = Omit<Mention, 'cue' | 'label' | 'joined'>;
