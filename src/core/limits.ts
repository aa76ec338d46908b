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
/** The error that a model reads stays below this many UTF-16 code units (1.9). */
export const MAX_EXPLANATION_CHARS = 1_000;

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
export const MAX_DIAGNOSIS_STEPS = 500_000;
/** Violations that one verdict records; a model is told of fewer (1.9). */
export const MAX_VIOLATIONS = 20;
/** A name or a pointer in the words of a violation, in UTF-16 code units: foreign names can be long. */
export const MAX_VIOLATION_NAME_CHARS = 120;
/** The instance_path of a violation, in UTF-16 code units. */
export const MAX_POINTER_CHARS = 1_000;
/** Remarks on one definition. */
export const MAX_REMARKS = 20;
/** Compiled validators are large; ones that fall out are compiled again when they are needed (2.4). */
export const MAX_CACHED_VALIDATORS = 1_000;

// Results (3.4).

/** A model cannot use more text at once; longer text becomes a blob (3.4). */
export const MAX_INLINE_TEXT_BYTES = 256 * KIB;
/** What a model gets of a text that became a blob (3.4). */
export const TEXT_EXCERPT_BYTES = 32 * KIB;
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
/** The least that a worker may name as the largest message it reads: a dispatch with its policy fits. */
export const MIN_MESSAGE_BYTES = 16 * KIB;
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

// The engine.

/** Calls that have not ended, for each tenant. Each costs a few kilobytes of memory. */
export const MAX_UNFINISHED_CALLS = 100_000;
/** Commands that wait in one session's mailbox. */
export const MAX_MAILBOX = 1_024;
/** Watchers of one call; each gets every update. */
export const MAX_WATCHERS = 64;
/** Updates that wait for one reader of a call; beyond it progress is merged and the reader is dropped. */
export const MAX_QUEUED_UPDATES = 1_024;
/** Ended calls that stay in memory for readers that come back; the journal has the rest. */
export const MAX_ENDED_CALLS_CACHED = 1_000;
/** Tool definitions that are remembered after their last worker left, so that calls queue for them. */
export const MAX_ABSENT_TOOLS = 10_000;
/** Appends that wait for the journal; beyond it, new calls are refused as overloaded. */
export const MAX_QUEUED_APPENDS = 100_000;
/** Entries of one page of a list. */
export const MAX_PAGE_SIZE = 1_000;
/** How long a shutdown waits for running calls. */
export const SHUTDOWN_GRACE_MS = 10_000;
/** One message of ReadBlob. */
export const BLOB_CHUNK_BYTES = 64 * KIB;
