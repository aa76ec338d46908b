import type {
  Digest,
  JournalErrorKind,
  ListQuery,
  Pruned,
  PruneQuery,
  SessionKey,
  SessionTally,
  TokenRecord,
} from '../engine/ports.ts';

/** What the journal and its thread say to each other. Everything is plain data: it is cloned or transferred. */
export interface ThreadOptions {
  readonly path: string;
  /** Bytes that the database may have; the write-ahead log comes on top. */
  readonly maxBytes: number | undefined;
  /** Free bytes below which appends for new sessions are refused. */
  readonly reserveBytes: number;
}

/** Appends for one commit, packed by commit-batch.ts. */
export interface PackedCommit {
  readonly numbers: Uint32Array<ArrayBuffer>;
  readonly texts: readonly string[];
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What the appends name, each once. */
  readonly definitions: readonly NamedDefinition[];
}

export interface NamedDefinition {
  readonly tenant: string;
  readonly digest: Digest;
}

export type ThreadQuestion =
  | { readonly kind: 'commit'; readonly commit: PackedCommit }
  | { readonly kind: 'read'; readonly queries: readonly ReadQuery[] }
  | { readonly kind: 'unfinished'; readonly afterPosition: number }
  | { readonly kind: 'tally' }
  | { readonly kind: 'list'; readonly query: ListQuery; readonly beforePosition: number | undefined }
  | { readonly kind: 'prune'; readonly query: PruneQuery }
  | { readonly kind: 'unreferenced'; readonly tenant: string; readonly digests: readonly Digest[] }
  | { readonly kind: 'load_tokens' }
  | { readonly kind: 'put_token'; readonly record: TokenRecord }
  | { readonly kind: 'remove_token'; readonly id: string }
  | { readonly kind: 'close' };

export interface ThreadRequest {
  readonly id: number;
  readonly question: ThreadQuestion;
}

export interface ReadQuery {
  readonly key: SessionKey;
  readonly afterSequence: number;
  /** Absent for the first page, whose answer says where the log ended then, and which session it was. */
  readonly from: PageOrigin | undefined;
}

/** What pages of the same log have in common. */
export interface PageOrigin {
  /** The session's number in the journal: another session may have its id by now. */
  readonly session: number;
  readonly throughSequence: number;
}

/** What became of one call of `append`; absent where all was appended. */
export type CallResult =
  | { readonly call: number; readonly kind: 'conflicts'; readonly conflicts: readonly Conflict[] }
  | { readonly call: number; readonly kind: 'refused'; readonly error: ThreadError };

export interface Conflict {
  /** The place of the append in its call. */
  readonly append: number;
  readonly actualSequence: number;
}

export interface EventPage {
  /** Sizes of the events, which follow each other in `bytes`. */
  readonly sizes: Uint32Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly from: PageOrigin;
}

export interface KeyPage {
  readonly keys: readonly SessionKey[];
  /** The position of the last one; absent at the end. */
  readonly nextPosition: number | undefined;
}

export interface IdPage {
  readonly sessionIds: readonly string[];
  readonly nextPosition: number | undefined;
}

/** A JournalError on its way between threads, where classes do not survive. */
export interface ThreadError {
  readonly kind: JournalErrorKind;
  readonly message: string;
}

export type ThreadAnswer =
  | { readonly kind: 'committed'; readonly results: readonly CallResult[] }
  /** In the order of the queries. Those that are left out were too much for one answer. */
  | { readonly kind: 'events'; readonly pages: readonly (EventPage | ThreadError)[] }
  | { readonly kind: 'keys'; readonly page: KeyPage }
  | { readonly kind: 'tallies'; readonly tallies: readonly SessionTally[] }
  | { readonly kind: 'ids'; readonly page: IdPage }
  | { readonly kind: 'pruned'; readonly pruned: Pruned }
  | { readonly kind: 'digests'; readonly digests: readonly Digest[] }
  | { readonly kind: 'tokens'; readonly tokens: readonly TokenRecord[] }
  | { readonly kind: 'done' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'error'; readonly error: ThreadError };

export type ThreadMessage =
  | { readonly kind: 'opened' }
  /** Something is wrong that does not end the journal. */
  | { readonly kind: 'noticed'; readonly error: ThreadError }
  /** The file could not be opened, or the journal has ended: nothing is answered after it. */
  | { readonly kind: 'ended'; readonly error: ThreadError }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: ThreadAnswer };
