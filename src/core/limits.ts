/**
 * Every bound of the engine, with its reason. Sizes are in bytes, times in milliseconds, unless the name
 * says otherwise. A rule number names the section of docs/protocol.md that fixes the value.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

// Arguments and JSON texts (1.5, 1.7, 1.9).

/** A model writes kilobytes; a megabyte is a program that passes data, for which blobs exist (1.5). */
export const MAX_ARGUMENTS_BYTES = 1 * MIB;
/** Deeper values are an attack on recursive readers, in whatever language the worker is written (1.5). */
export const MAX_JSON_DEPTH = 64;
/** More keys are an attack on hash tables and on the duplicate check (1.5). */
export const MAX_JSON_KEYS = 10_000;
/** Repair tries several readings of a text, so it gets a smaller one (1.7). */
export const MAX_REPAIR_BYTES = 64 * KIB;
/** A model corrects a few mistakes at a time; more only crowd its context (1.9). */
export const MAX_EXPLAINED_VIOLATIONS = 5;
/** The error that a model reads stays below this many UTF-16 code units (1.9) … */
export const MAX_EXPLANATION_CHARS = 1_000;
/** … of which the list of violations leaves room for the sentences around it … */
export const MAX_EXPLAINED_LIST_CHARS = 700;
/** … and one violation for others. */
export const MAX_EXPLAINED_VIOLATION_CHARS = 300;

// Schemas (2.3, 2.4).

/** The largest published tool schemas are below 100 KiB; compiling more would stall the engine (2.3). */
export const MAX_SCHEMA_BYTES = 256 * KIB;
/** Compilation recurses over the schema (2.3). */
export const MAX_SCHEMA_DEPTH = 64;
/** Branches of one `oneOf`, and the like: the code for them nests, and compiling grows with the square. */
export const MAX_SCHEMA_WIDTH = 256;
/** Schemas inside one schema; the largest published ones have two thousand (2.3). */
export const MAX_SUBSCHEMAS = 10_000;
/** Places that references lead to; each becomes a function (2.3). */
export const MAX_SCHEMA_DEFINITIONS = 1_000;
/** Different patterns in one schema; each takes up to a millisecond to compile (2.3). */
export const MAX_SCHEMA_PATTERNS = 250;
/** A longer pattern is data in disguise, and compiles slowly; it is reported and not enforced (2.3). */
export const MAX_PATTERN_CHARS = 4 * KIB;
/** Instructions of a compiled pattern; each character of a string may visit all of them (2.3). */
export const MAX_PATTERN_INSTRUCTIONS = 4_096;
/**
 * What one check may cost, in steps of some 10 ns. Nested unions over large values grow without any other
 * bound; beyond this the value counts as not matching, and says why (1.5).
 */
export const MAX_CHECK_STEPS = 2_500_000;
/** What finding the words for a mismatch may cost, in the same steps. */
export const MAX_DIAGNOSIS_STEPS = 250_000;
/** Violations that one verdict records; a model is told of fewer (1.9). */
export const MAX_VIOLATIONS = 20;
/** A name or a pointer in the words of a violation, in UTF-16 code units: foreign names can be long. */
export const MAX_VIOLATION_NAME_CHARS = 120;
/** The instance_path of a violation, in UTF-16 code units. */
export const MAX_POINTER_CHARS = 1_000;
/** Remarks on one definition. */
export const MAX_REMARKS = 20;
/** No date, address or number of a format is longer, in UTF-16 code units; the check of a longer text would be for nothing. */
export const MAX_FORMATTED_CHARS = 1_024;
/** Compiled validators are large; ones that fall out are compiled again when they are needed (2.4). */
export const MAX_CACHED_VALIDATORS = 1_000;

// Results (3.4).

/** A model cannot use more text at once; longer text becomes a blob (3.4). */
export const MAX_INLINE_TEXT_BYTES = 256 * KIB;
/** What a model gets of a text that became a blob (3.4). */
export const TEXT_EXCERPT_BYTES = 32 * KIB;
/** Blocks of one result: more is a program that streams, for which progress and blobs exist. */
export const MAX_CONTENT_BLOCKS = 1_000;
/** Each of structured_json, details_json, state and presentation (3.4). */
export const MAX_JSON_FIELD_BYTES = 1 * MIB;

// Names and ids.

/** A tool's name, in Unicode characters (Tool.name). */
export const MAX_TOOL_NAME_CHARS = 256;
/** A call's, session's or turn's id: an index key, so it is short. */
export const MAX_ID_CHARS = 128;
/** Worker names, build ids and SDK names are for people and for logs. */
export const MAX_LABEL_CHARS = 256;
/** W3C trace context: traceparent, tracestate and baggage together (baggage alone may have 8,192). */
export const MAX_TRACE_CONTEXT_BYTES = 16 * KIB;

// The call (4.1, 4.3).

/** Attempts that any policy may ask for; beyond it a retry is a loop. */
export const MAX_ATTEMPTS = 100;
/** The factor from one backoff to the next; more only reaches the longest backoff at once. */
export const MAX_BACKOFF_MULTIPLIER = 1_000;
/** A dispatch that comes back unstarted this often ends its attempt with `rejected` (4.3). */
export const MAX_REQUEUES = 16;
/** No policy may ask for a longer wait than a year; it keeps instants within safe integers. */
export const MAX_POLICY_DURATION_MS = 366 * 24 * 3_600_000;
/** Checkpoints are kept durably, at most one a second … (Progress.checkpoint) */
export const CHECKPOINT_INTERVAL_MS = 1_000;
/** … of this size. */
export const MAX_CHECKPOINT_BYTES = 64 * KIB;

// Messages and streams (5.2, 5.3, 5.10).

/** The largest message that the engine reads, and what a reader that names none is taken to read. */
export const MAX_MESSAGE_BYTES = 4 * MIB;
/** Room for the envelope around a frame: field tags, lengths, and the trailer of the batch. */
export const MESSAGE_OVERHEAD_BYTES = 64;
/** The least that a worker may name as the largest message it reads: DISPATCH_OVERHEAD_BYTES, and as much again. */
export const MIN_MESSAGE_BYTES = 64 * KIB;
/** What a dispatch takes at most beside its arguments, verdict and checkpoint: ids, names, a proposal, a trace context. */
export const DISPATCH_OVERHEAD_BYTES = 32 * KIB;
/** Frames of one tick go in one message, up to this size … (5.2) */
export const MAX_BATCH_BYTES = 256 * KIB;
/** … and this number (5.2). */
export const MAX_BATCH_FRAMES = 128;
/** A stream whose first frame does not come within this is closed (5.1). */
export const HELLO_TIMEOUT_MS = 5_000;
/** How often a worker proves that it lives (5.3). */
export const HEARTBEAT_INTERVAL_MS = 10_000;
/** Silence after which a stream counts as broken: three heartbeats (5.3). */
export const SILENCE_TIMEOUT_MS = 30_000;
/** How long the leases of a worker whose stream broke are kept (5.3). */
export const RESUME_GRACE_MS = 30_000;
/** How long a cancelled handler has to stop (5.3). */
export const CANCEL_GRACE_MS = 10_000;
/** A stream is renewed after this, give or take a tenth, so that load spreads over engines (5.3). */
export const STREAM_AGE_MS = 3_600_000;
/** First bound of the wait before a reconnect; full jitter (5.3). */
export const RECONNECT_INITIAL_MS = 250;
/** Last bound of the wait before a reconnect (5.3). */
export const RECONNECT_MAX_MS = 15_000;
/** A reader that takes nothing for this long is sent away (5.10). */
export const SLOW_READER_MS = 15_000;
/** A rejected dispatch is not offered to its worker again before this (Reject.retry_after). */
export const REJECT_PAUSE_MS = 1_000;
/** Sessions whose dispatches a worker rejected and is not offered for a while; the oldest is forgotten first. */
export const MAX_PAUSED_SESSIONS = 10_000;
/** Dispatches that a worker runs at once, where its hello says nothing. */
export const DEFAULT_MAX_IN_FLIGHT = 16;
/** Dispatches that a worker may ask for. */
export const MAX_IN_FLIGHT = 4_096;
/** Tools that one worker may offer: its hello has to fit a message. */
export const MAX_TOOLS_PER_WORKER = 1_000;
/** Workers, each of which costs a socket and a heartbeat. */
export const MAX_WORKERS = 10_000;
/** How long a drain waits for held work before it gives up (5.9). */
export const DRAIN_TIMEOUT_MS = 30_000;
/** An answer waits for the journal at most in this number for each stream; then the stream is not read. */
export const MAX_UNREAD_ANSWERS = 1_024;
/** How often a stream that is not read looks whether it may be read again. */
export const UNREAD_RECHECK_MS = 10;
/** How often a drain looks whether the journal has recorded the last reservations: about one commit (5.9). */
export const DRAIN_RECHECK_MS = 2;

// The engine.

/** The longest timer of the platform, 24 days; longer waits take several, since Node fires a longer timer at once. */
export const MAX_TIMER_MS = 2_147_483_647;
/** An alarm that rings so late tells of a process that stood still (5.8). */
export const STALL_MS = 1_000;
/** Calls that have not ended, for each tenant. Each costs a few kilobytes of memory. */
export const MAX_UNFINISHED_CALLS = 100_000;
/** Commands that wait in one session's mailbox. */
export const MAX_MAILBOX = 1_024;
/** How long an append that a full or overloaded journal refused waits before the next try. */
export const JOURNAL_RETRY_MS = 1_000;
/** Watchers of one call; each gets every update. */
export const MAX_WATCHERS = 64;
/** Updates that wait for one reader of a call; beyond it progress is merged and the reader is dropped. */
export const MAX_QUEUED_UPDATES = 1_024;
/** Tool definitions that are remembered after their last worker left, so that calls queue for them. */
export const MAX_ABSENT_TOOLS = 10_000;
/** Tool definitions kept in memory; the blob store has the rest. */
export const MAX_CACHED_DEFINITIONS = 10_000;
/** Appends that wait for the journal; beyond it, new calls are refused as overloaded. */
export const MAX_QUEUED_APPENDS = 100_000;
/** Globs of one request, each of which is tried on every name. */
export const MAX_GLOBS = 100;
/**
 * How many calls of one tool are offered before the tool counts as busy: a call that its only free worker has
 * just rejected must not block those behind it (5.11).
 */
export const MAX_OFFERS_PER_TOOL = 16;
/** Damage that was reported is not reported again, however often it is read; so much of it is remembered. */
export const MAX_REPORTED_DAMAGE = 1_000;
/** Words of a search, in UTF-16 code units. */
export const MAX_QUERY_CHARS = 1_000;
/** Calls in flight on one StreamCalls; a client that needs more opens another stream. */
export const MAX_CALLS_PER_STREAM = 16_384;
/** A result's encoded size, so that every message that carries it to a reader stays below MAX_MESSAGE_BYTES. */
export const MAX_RESULT_BYTES = MAX_MESSAGE_BYTES - 64 * KIB;
/** Entries of one page of a list. */
export const MAX_PAGE_SIZE = 1_000;
/** Calls of a page where the request names no number (ListCallsRequest.page_size). */
export const DEFAULT_CALLS = 50;
/** Tools of a page where the request names no number (ListToolsRequest.page_size). */
export const DEFAULT_TOOLS = 100;
/** Tools that a search finds where the request names no number (SearchToolsRequest.max_matches). */
export const DEFAULT_MATCHES = 5;
/** How long a shutdown waits for running calls. */
export const SHUTDOWN_GRACE_MS = 10_000;
/** One message of ReadBlob. */
export const BLOB_CHUNK_BYTES = 64 * KIB;

// The journal.

/** What the appends that wait may hold together: one append may be as large as a few messages. */
export const MAX_QUEUED_APPEND_BYTES = 256 * MIB;
/** Appends of one commit. More would make the first wait for the last without saving another sync. */
export const MAX_COMMIT_APPENDS = 1_024;
/** Events that are encoded in one go. More save nothing, and each may have megabytes. */
export const EVENTS_PER_ENCODING = 48;
/** Events of one commit, in bytes, unless a single append is larger: the write-ahead log grows by as much. */
export const MAX_COMMIT_BYTES = 4 * MIB;
/** The write-ahead log is moved into the database at this size: 4 ms of copying, where 16 MiB took 14. */
export const CHECKPOINT_BYTES = 4 * MIB;
/** Events travel from the journal's thread in pages of about this size, so a long log needs little memory. */
export const READ_PAGE_BYTES = 256 * KIB;
/** Keys of one page of `unfinished`: some 100 bytes each. */
export const KEYS_PER_PAGE = 1_000;
/** Disk space below which new sessions are refused, so that running ones can record how they end (7.4). */
export const JOURNAL_RESERVE_BYTES = 64 * MIB;
/**
 * Sessions without open work that the memory journal keeps; beyond it the one that ended first is dropped. With
 * ten times as many, an append took nearly three times as long: the garbage collector copies what lives for seconds.
 */
export const MAX_MEMORY_SESSIONS = 10_000;
/** How long ended sessions are kept where nobody says otherwise (4.12). */
export const RETAIN_MS = 7 * 24 * 3_600_000;
/** How often ended sessions are looked for that are old enough to go. */
export const PRUNE_INTERVAL_MS = 60_000;
/** Sessions that go at once. With their events it takes a few milliseconds, for which appends wait … */
export const MAX_PRUNED_SESSIONS = 100;
/** … and events; a longer log goes in several steps … */
export const MAX_PRUNED_EVENTS = 500;
/** … and so does one of larger events: the pages of each have to be found. */
export const MAX_PRUNED_BYTES = 1 * MIB;
/** The share of the time that pruning takes of the journal, at most: one part in five. */
export const PRUNE_REST_FACTOR = 4;
/** How often the blob store is searched for what nothing refers to: each file is looked at. */
export const BLOB_COLLECTION_INTERVAL_MS = 3_600_000;
/** A blob that was put this recently is kept: the event that refers to it may wait for a full disk (3.3). */
export const BLOB_GRACE_MS = 3_600_000;
/** Blobs that one step of a collection asks the journal about. */
export const BLOBS_PER_STEP = 256;
/** A reference to a definition counts for so many sessions that follow: one row to write for as many calls. */
export const DEFINITION_CLAIM_SESSIONS = 10_000;
/** Disk space that the write-ahead log may need while the database itself has room in its own free pages. */
export const WAL_RESERVE_BYTES = 16 * MIB;
/** How long the journal checks its indexes at a time, while appends wait … */
export const INDEX_CHECK_MS = 2;
/** … and how long it then leaves them alone. */
export const INDEX_CHECK_PAUSE_MS = 20;
/** Sessions that are read at once during recovery. They travel together, and memory holds two lots of their logs. */
export const RECOVERY_READS = 256;
/** What the memory blob store keeps; beyond it `put` is refused. */
export const MAX_MEMORY_BLOBS_BYTES = 256 * MIB;

// The ports.

/** Bytes that wait for one slow reader of a stream before its writer is told to wait (5.10). */
export const MAX_UNSENT_BYTES = 256 * KIB;
/** Requests at once on one connection; a client with more of them waits, or uses a stream. */
export const MAX_REQUESTS_PER_CONNECTION = 1_000;
/** How often the engine asks whether a quiet connection's peer still lives. */
export const KEEPALIVE_INTERVAL_MS = 20_000;
/** How long the peer has to answer that; both together are below SILENCE_TIMEOUT_MS. */
export const KEEPALIVE_TIMEOUT_MS = 8_000;
/** Text of a status: it travels in a header, up to nine times as long, beside its details. */
export const MAX_STATUS_CHARS = 1_000;
/** When to try again after a refusal that passes. */
export const RETRY_AFTER_MS = 1_000;
/** After the grace of a shutdown: how long the last statuses have to reach their peers. */
export const SHUTDOWN_FLUSH_MS = 1_000;
/** Headers of an HTTP request: a trace context, a credential, and what proxies add. */
export const MAX_HTTP_HEADER_BYTES = 32 * KIB;
/** How long an HTTP request may take to arrive. */
export const HTTP_REQUEST_TIMEOUT_MS = 30_000;
/** How long an HTTP connection without a request is kept. */
export const HTTP_KEEPALIVE_MS = 60_000;
/** HTTP connections at once. */
export const MAX_HTTP_CONNECTIONS = 4_096;

// The SDK.

/** A deeper result would exhaust the stack of its readers (3.1); real documents stay far below. */
export const MAX_RESULT_DEPTH = 1_000;
/** Calls that one client waits for at once; each costs memory on both sides. */
export const MAX_CLIENT_CALLS = 10_000;
/** How long a client tries to reach its engine before the calls that wait for it fail. */
export const CLIENT_UNAVAILABLE_MS = 15_000;
/** A client that waits for no call gives its stream back after this, so that it keeps no process alive. */
export const CLIENT_IDLE_MS = 5_000;
