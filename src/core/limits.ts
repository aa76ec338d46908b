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
/** What a failure quotes of a worker's reason for giving a dispatch back, in UTF-16 code units: a sentence or two. */
export const MAX_REJECT_REASON_CHARS = 300;
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

// Deciders (AgentBinding).

/** Agents that one worker may bind: its hello has to fit a message. */
export const MAX_AGENTS_PER_WORKER = 100;
/** A configuration is recorded whenever it changes, and may go with each dispatch of its agent. */
export const MAX_AGENT_CONFIG_BYTES = 1 * MIB;
/** Tools declared in one configuration: a model chooses badly among hundreds, and the catalog has room for more. */
export const MAX_TOOLS_PER_AGENT = 500;
/** Deltas of one frame that are passed on; a model writes some hundred tokens a second, and more is no live text … */
export const MAX_DELTAS_PER_FRAME = 1_000;
/** … and their text, in UTF-16 code units. What is beyond is left out: the response brings all of it. */
export const MAX_DELTA_CHARS = 64 * KIB;

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
/** Conversations without open work that the memory journal keeps; beyond it the one that rests longest is dropped. */
export const MAX_MEMORY_CONVERSATIONS = 100_000;
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
/**
 * Blobs that are written at once. Each has a file open, and workers that start together may bring thousands, where
 * systems give a process 1,024 handles; the disk is busy with fewer.
 */
export const MAX_PARALLEL_BLOB_WRITES = 32;
/** Blobs that one step of a collection asks the journal about. */
export const BLOBS_PER_STEP = 256;
/** Sessions whose heads the journal's thread remembers, of some 200 bytes: more than a busy engine has in flight. */
export const MAX_KEPT_HEADS = 10_000;
/** A reference to a definition counts for so many sessions that follow: one row to write for as many calls. */
export const DEFINITION_CLAIM_SESSIONS = 10_000;
/** Disk space that the write-ahead log may need while the database itself has room in its own free pages. */
export const WAL_RESERVE_BYTES = 16 * MIB;
/** How long the journal checks its indexes at a time, while appends wait … */
export const INDEX_CHECK_MS = 2;
/** … and how long it then leaves them alone. */
export const INDEX_CHECK_PAUSE_MS = 20;
/** Sessions that one page of a tenant's list looks at: some 5 ms, for which appends wait. */
export const SCANNED_SESSIONS = 5_000;
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
/** gRPC connections at once: MAX_WORKERS, each of which has one, and as many clients. */
export const MAX_GRPC_CONNECTIONS = 20_000;
/** HTTP connections at once. */
export const MAX_HTTP_CONNECTIONS = 4_096;

// The models that need no provider.

/** Answers of one script: more is a program, and a worker can make model calls. */
export const MAX_SCRIPTED_ANSWERS = 10_000;
/** The longest wait of a scripted answer; longer ones are for `hang`. */
export const MAX_SCRIPTED_DELAY_MS = 600_000;
/** What the local model reads of a person's words, in UTF-16 code units: finding values takes several passes. */
export const MAX_LOCAL_TEXT_CHARS = 8_000;
/** Things asked for in one message. */
export const MAX_LOCAL_CLAUSES = 16;
/** Calls in one response of the local model, so that a list of a thousand files is not a thousand calls. */
export const MAX_LOCAL_CALLS = 16;
/** Model calls of one turn after which the local model answers with what it has. */
export const MAX_LOCAL_ITERATIONS = 12;
/** Tools that the local model looks at. */
export const MAX_LOCAL_TOOLS = 1_000;
/** Places for values in one schema: recursive schemas have no end of them. */
export const MAX_LOCAL_SLOTS = 256;
/** How deep into a schema values are looked for. */
export const MAX_LOCAL_DEPTH = 8;
/** Forms of one schema that are tried: each alternative multiplies them. */
export const MAX_LOCAL_FORMS = 16;
/** Values that are read out of the results of a conversation, newest first. */
export const MAX_LOCAL_FACTS = 2_000;
/** What an answer quotes of one result, in UTF-16 code units. */
export const MAX_LOCAL_QUOTE_CHARS = 2_000;
/** Rows of a list that an answer names. */
export const MAX_LOCAL_ROWS = 20;
/** Compiled schemas that the local model keeps; they are compiled again when they are needed. */
export const MAX_LOCAL_SCHEMAS = 200;
// Access (section 9).

/** Tokens that are kept, with those that have ended; beyond it, ended ones go, the oldest first. */
export const MAX_TOKENS = 10_000;
/** One file of the record of who did what; a new one begins behind it. */
export const MAX_AUDIT_FILE_BYTES = 64 * MIB;
/** What of that record may wait for the disk. Beyond it entries are lost, and that is reported: requests go on. */
export const MAX_UNWRITTEN_AUDIT_BYTES = 16 * MIB;
/** How long a file of that record is kept after its last entry. */
export const AUDIT_RETAIN_MS = 366 * 24 * 3_600_000;
/** Entries that an engine without a folder remembers. */
export const MAX_MEMORY_AUDIT_ENTRIES = 10_000;
/** Entries of one message of ReadAudit. */
export const AUDIT_PAGE_ENTRIES = 500;
/** Rates of tenants and credentials that are remembered, as long as they are not as good as new. */
export const MAX_BUCKETS = 20_000;
/** When to try again after the sessions that may be kept are reached: a person, or a clean-up, deletes some first. */
export const SESSIONS_RETRY_MS = 60_000;
/** How often a stream whose credential has ended looks whether its worker has settled what it held. */
export const SETTLED_RECHECK_MS = 100;
/** Certificates, and tokens of an issuer, that are remembered with whose they are; others are looked at anew. */
export const MAX_CACHED_IDENTITIES = 10_000;
/** Signatures that are verified at once: whoever sends bad ones waits for nobody else's processor. */
export const MAX_VERIFICATIONS = 64;
/** How long an issuer has to say its keys. */
export const JWKS_TIMEOUT_MS = 5_000;
/** How soon the keys of an issuer are read again for a token that none of them signed. */
export const JWKS_RECHECK_MS = 30_000;
/** How often the files of certificates are looked at for a change. */
export const TLS_RECHECK_MS = 5_000;
/** What globs of one credential may have together: they are on record with every call that it makes. */
export const MAX_GLOBS_CHARS = 4 * KIB;

// Telemetry (8).

/** Names of tools and models in spans, in UTF-16 code units: foreign names can be long. */
export const MAX_SPAN_NAME_CHARS = 128;
/** Arguments or a result in a span, where they are recorded, in UTF-16 code units: backends cut longer ones anyway (8.5). */
export const MAX_RECORDED_CONTENT_CHARS = 8 * KIB;
/** Spans that wait for the collector, where OTEL_BSP_MAX_QUEUE_SIZE says nothing; beyond it they are dropped (8.7). */
export const MAX_QUEUED_SPANS = 16_384;
/** Spans of one export: the default of the standard, OTEL_BSP_MAX_EXPORT_BATCH_SIZE. */
export const SPANS_PER_EXPORT = 512;
/** How long ended spans wait for others: the default of the standard, OTEL_BSP_SCHEDULE_DELAY. */
export const SPAN_EXPORT_DELAY_MS = 5_000;
/** How long one export may take: the default of the standard, OTEL_BSP_EXPORT_TIMEOUT. */
export const SPAN_EXPORT_TIMEOUT_MS = 30_000;
/** How often metrics are exported: the default of the standard, OTEL_METRIC_EXPORT_INTERVAL. */
export const METRIC_EXPORT_INTERVAL_MS = 60_000;
/** What a shutdown waits for a collector at most (8.7): an orchestrator kills the process soon after. */
export const TELEMETRY_FLUSH_MS = 5_000;
/** The same fault of the export is reported once in this time, with how often it happened. */
export const TELEMETRY_REPORT_INTERVAL_MS = 60_000;
/** Events of one span, and waits of one call: the default of the standard, OTEL_SPAN_EVENT_COUNT_LIMIT. */
export const MAX_MOMENTS = 128;
/** Traces whose ids need not be derived again: about those that a busy engine has in flight. */
export const MAX_TRACES_AT_HAND = 4_096;
/** Connections to the Prometheus endpoint at once: a few scrapers, and a person who looks. */
export const MAX_SCRAPERS = 64;

// The SDK.

/** A deeper result would exhaust the stack of its readers (3.1); real documents stay far below. */
export const MAX_RESULT_DEPTH = 1_000;
/** Calls that one client waits for at once; each costs memory on both sides. */
export const MAX_CLIENT_CALLS = 10_000;
/** How long a client tries to reach its engine before the calls that wait for it fail. */
export const CLIENT_UNAVAILABLE_MS = 15_000;
/** A client that waits for no call gives its stream back after this, so that it keeps no process alive. */
export const CLIENT_IDLE_MS = 5_000;

// The loop (section 6).

/** Model calls with tools in one turn, where the agent says nothing (6.4). */
export const DEFAULT_MAX_ITERATIONS = 8;
/** Model calls that an agent may allow itself in one turn; beyond it a turn is a program of its own. */
export const MAX_MAX_ITERATIONS = 1_000;
/** The same calls with the same results in a row: the model goes in a circle (6.4). */
export const MAX_REPETITIONS = 3;
/** How often prose without a submission is answered with a reminder (TaskContract.max_reminders). */
export const DEFAULT_REMINDERS = 1;
/** Parent sessions of a session: a deeper chain of agents that start agents is a loop (6.10). */
export const MAX_SUBAGENT_DEPTH = 8;
/** Turns that wait behind the running one. */
export const MAX_QUEUED_TURNS = 64;
/** Messages of one conversation: each model call sends them, and memory holds them. */
export const MAX_SESSION_MESSAGES = 10_000;
/** One message that a client or a decision brings, in bytes. */
export const MAX_CHAT_MESSAGE_BYTES = 1 * MIB;
/** A decision's encoded size: what it starts is in one event, which has to fit a message to whoever watches. */
export const MAX_DECISION_BYTES = MAX_MESSAGE_BYTES - 64 * KIB;
/** Calls that one response, or one decision, starts. Providers stop at about as many. */
export const MAX_CALLS_PER_RESPONSE = 128;
/** Actions of one decision. */
export const MAX_ACTIONS = 256;
/** Agents that an agent may start. */
export const MAX_SUBAGENTS = 100;
/** Connectors that an agent uses. */
export const MAX_CONNECTOR_USES = 100;
/** How long a worker may take for a decision, each time that it is asked (4.1) … */
export const DECISION_RUN_MS = 20_000;
/** … all deliveries and waits together (4.1) … */
export const DECISION_TOTAL_MS = 300_000;
/** … and how often it is delivered (4.1). */
export const MAX_DECISION_DELIVERIES = 10;
/** Decisions on one trigger that break a rule; then nobody is asked again (6.16). */
export const MAX_DECISION_REFUSALS = 10;
/** Matches in one answer to a search for deferred tools (DeferredTools.max_matches). */
export const DEFAULT_DEFERRED_MATCHES = 5;
/** Metadata of a session: entries … */
export const MAX_METADATA_ENTRIES = 64;
/** … and bytes, names and values together. */
export const MAX_METADATA_BYTES = 16 * KIB;

// Model calls.

/** Sentences about one request's history: each event of a model call holds them, and a long history may need many. */
export const MAX_HISTORY_REPAIRS = 50;
/** Sets of tools that model calls have offered, kept in memory; the blob store has the rest. */
export const MAX_CACHED_TOOL_SETS = 1_000;
/** Messages of one input of a client. */
export const MAX_MESSAGES_PER_INPUT = 1_000;
/** Sessions of one tenant that are in memory: those that run, wait, or are watched. */
export const MAX_SESSIONS_IN_MEMORY = 100_000;
/** Watchers of one session; each gets every event. */
export const MAX_FOLLOWERS = 64;
/** Sessions of a page where the request names no number (ListSessionsRequest.page_size). */
export const DEFAULT_SESSIONS = 50;

/** What a provider says about an error, in UTF-16 code units: some send whole pages. */
export const MAX_PROVIDER_MESSAGE_CHARS = 500;
/** A provider that wants to be left alone for longer is asked again after this all the same. */
export const MAX_RETRY_AFTER_MS = 3_600_000;
/** What one answer of a model may hold, text and arguments together: it has to fit an event. */
export const MAX_MODEL_ANSWER_BYTES = 2 * MIB;
/** Tool calls of one answer: more is a model that repeats itself. */
export const MAX_CALLS_PER_ANSWER = 128;
/** One picture, sound or document of a request. Anthropic takes no larger one. */
export const MAX_MEDIA_BYTES = 5 * MIB;
/** All of them in one request, the newest first: providers refuse requests of 20 MiB, a third of which base64 adds. */
export const MAX_REQUEST_MEDIA_BYTES = 14 * MIB;
/** Projections of tool schemas that are kept; one is made in less than a millisecond. */
export const MAX_CACHED_PROJECTIONS = 2_000;
/** Remarks on tools and settings that were reported are not reported again; so many are remembered. */
export const MAX_REPORTED_REMARKS = 1_000;

// The gateway: the catalog as an MCP server.

/** Tools that one list shows; a model that reads more chooses worse, so a larger catalog is searched instead (6.8). */
export const MAX_GATEWAY_TOOLS = 128;
/** Definitions of one page of a list, in bytes: what any client reads in one message. */
export const GATEWAY_PAGE_BYTES = 1 * MIB;
/** Bytes of a blob that a result carries in base64; larger ones are named by a link, which can be read. */
export const MAX_GATEWAY_INLINE_BYTES = 1 * MIB;
/** Bytes that one read of a blob's resource gives: a third more in base64, held in memory. */
export const MAX_GATEWAY_RESOURCE_BYTES = 16 * MIB;
/** MCP sessions over HTTP at once; each costs a few hundred kilobytes, mostly events kept for a reconnect … */
export const MAX_GATEWAY_SESSIONS = 1_000;
/** … and one without a request or an open stream ends after this. */
export const GATEWAY_IDLE_MS = 30 * 60_000;
/** How often idle sessions are looked for. */
export const GATEWAY_SWEEP_MS = 60_000;
/** Messages that one MCP session keeps for a client that reconnects … */
export const MAX_GATEWAY_EVENTS = 256;
/** … and their size; a result of MAX_RESULT_BYTES fits, in base64 too. */
export const MAX_GATEWAY_EVENT_BYTES = 8 * MIB;
/** Progress that one call sends at once to a client, which may not read it … */
export const GATEWAY_PROGRESS_BURST = 100;
/** … and how long each further one has to wait. */
export const GATEWAY_PROGRESS_INTERVAL_MS = 100;
/** How long a change of the catalog settles before clients hear of it: workers come in crowds. */
export const CATALOG_SETTLE_MS = 100;
/** How often a gateway beside the engine asks it whether its catalog has changed. */
export const CATALOG_POLL_MS = 2_000;

// Connectors: MCP servers whose tools the engine calls.

/** One message of a server: a result of MAX_RESULT_BYTES in base64, and room around it. */
export const MAX_CONNECTOR_MESSAGE_BYTES = 8 * MIB;
/** Pages of one list of tools; a server that has more gives the same ones again, as like as not. */
export const MAX_CONNECTOR_PAGES = 100;
/** All pages of one list together. */
export const MAX_CONNECTOR_LIST_BYTES = 16 * MIB;
/** A model reads the description; a longer one is no description, and fills its context (6.15). */
export const MAX_CONNECTOR_DESCRIPTION_CHARS = 32 * KIB;
/** How long connecting, and then one fetch of a list, may take: a turn waits for it. */
export const CONNECTOR_TIMEOUT_MS = 30_000;
/** How long a server's address may take to answer at all. */
export const CONNECTOR_CONNECT_MS = 10_000;
/** How long a server may take to hear that its session ends. */
export const CONNECTOR_LEAVE_MS = 1_000;
/** Calls at once where the configuration says nothing. */
export const CONNECTOR_IN_FLIGHT = 16;
/** First bound of the wait before a server is started or reached again; full jitter … */
export const CONNECTOR_RETRY_INITIAL_MS = 500;
/** … and the last one. */
export const CONNECTOR_RETRY_MAX_MS = 30_000;
/** A connection that has lived for so long was a good one: after it the waits begin anew. */
export const CONNECTOR_SETTLED_MS = 30_000;
/** How often a server that keeps changing its list is asked for it. */
export const CONNECTOR_REFRESH_MS = 1_000;
/** Sessions whose lists are remembered; a session that comes back after that is given the newest list. */
export const MAX_CONNECTOR_SESSIONS = 10_000;
/** What an operator or a model is told in a server's own words, in UTF-16 code units. */
export const MAX_CONNECTOR_WORDS = 500;
/** How much of what a server wrote to standard error is kept for `spindle connectors check`. */
export const CONNECTOR_STDERR_CHARS = 4 * KIB;
/** How long `spindle connectors login` waits for the browser to come back. */
export const CONNECTOR_LOGIN_MS = 5 * 60_000;
