/**
 * What the engine needs from the world, as small interfaces that main.ts fills in. Tests fill them with the
 * same implementations, or with simulated ones.
 */
import type { AgentConfig } from '../../gen/spindle/v1/agent_pb.ts';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { Delta } from '../../gen/spindle/v1/message_pb.ts';
import type { Progress } from '../../gen/spindle/v1/progress_pb.ts';
import type { AnswerVerdict, Failure } from '../../gen/spindle/v1/result_pb.ts';
import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import type { ModelRequest, ModelResponse } from '../../gen/spindle/v1/trigger_pb.ts';
import type {
  Answer,
  CancelReason,
  ContextLevel,
  Dispatch,
  ModelDelta,
  Reject,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import type { TraceOrigin } from '../core/activity.ts';
import type { Outcome, Refusal, RefusalReason } from '../core/refusal.ts';
import type { GrantedRole } from '../core/rights.ts';
import type { Session } from '../core/session.ts';
import type { Instant } from '../core/time.ts';
import type { Definition } from '../schema/definition.ts';

/** Names a session in the journal (7.3). A direct call is the session `call:` and its id. */
export interface SessionKey {
  readonly tenant: string;
  readonly sessionId: string;
}

/** What the journal keeps about a session beside its log, so that lists and recovery need not read logs. */
export interface SessionHead {
  readonly kind: 'call' | 'session';
  /** The tool of a direct call, the agent of a session. */
  readonly name: string;
  /** Who owns it: lists are by owner. */
  readonly subject: string;
  /** It owes something: recovery loads it, and `onlyUnfinished` lists it. */
  readonly unfinished: boolean;
}

export interface Append {
  readonly key: SessionKey;
  /** The sequence of the last event in the log; 0 for a new session. */
  readonly expectedSequence: number;
  /** At least one, numbered from expectedSequence + 1 without a gap. Never changed afterwards. */
  readonly events: readonly SessionEvent[];
  /**
   * The head after these events. `kind`, `name` and `subject` never change after the first append. Where it is
   * the first one in a row that says finished, the session ended when its last event occurred.
   */
  readonly head: SessionHead;
  /** What these events refer to in the blob store, apart from definitions: kept while the session is (3.3). */
  readonly blobs?: readonly Digest[];
  /**
   * The definitions that these events name (7.5): kept while the session is, and perhaps longer. Nearly every
   * call names one, and thousands the same, so they are counted less exactly than `blobs`, and at no cost.
   */
  readonly definitions?: readonly Digest[];
}

export type AppendOutcome =
  | { readonly kind: 'appended' }
  /** Somebody else wrote: nothing of this append was written. */
  | { readonly kind: 'conflict'; readonly actualSequence: number };

/** Why the journal, or the blob store, could not do what it was asked. */
export type JournalErrorKind =
  /** Another engine has the file open (7.3). */
  | 'in_use'
  /** The file or its directory cannot be opened or made. */
  | 'unavailable'
  /** The file is something else, and was left as it is. */
  | 'not_a_journal'
  /** A newer Spindle wrote the file. */
  | 'unknown_version'
  /** What was read is not what was written: nothing of that session can be trusted (7.4). */
  | 'corrupt'
  /** Too little room for this append. The journal goes on: later appends may fit (7.4). */
  | 'full'
  /** MAX_QUEUED_APPENDS or MAX_QUEUED_APPEND_BYTES wait already; nothing was queued. */
  | 'overloaded'
  /** A commit broke off, so nobody knows whether it counts: the journal has ended, and the engine must (7.4). */
  | 'failed'
  /** `close` was called. */
  | 'closed';

/** What a rejected promise of Journal and Blobs holds. */
export interface JournalFault extends Error {
  readonly name: 'JournalError';
  readonly kind: JournalErrorKind;
  /** 'unknown' for 'failed' alone; with every other kind, nothing of the append was written, for certain. */
  readonly written: 'nothing' | 'unknown';
}

export interface ListQuery {
  readonly tenant: string;
  readonly kind: SessionHead['kind'];
  /** Undefined: everybody's of the tenant. Such a page may hold fewer, or none, and have a next one all the same. */
  readonly subject: string | undefined;
  readonly name?: string;
  readonly onlyUnfinished: boolean;
  /** Where an earlier page left off. */
  readonly cursor?: string;
  /** From 1 to MAX_PAGE_SIZE. */
  readonly limit: number;
}

/** The conversations of a subject. */
export interface SessionTally {
  readonly tenant: string;
  readonly subject: string;
  readonly sessions: number;
}

export interface ListPage {
  /** Newest first, by their first append. */
  readonly sessionIds: readonly string[];
  /** Absent at the end. */
  readonly nextCursor?: string;
}

export type PruneQuery =
  | {
      /** Direct calls that ended before this. Conversations are kept until somebody deletes them. */
      readonly endedBefore: Instant;
      /** Sessions that one call removes at most. From 1 to MAX_PAGE_SIZE. */
      readonly limit: number;
    }
  /** This session alone, if there is one, whatever it owes. */
  | { readonly session: SessionKey };

export interface Pruned {
  /** Their logs are gone, and their ids are free. */
  readonly removed: readonly SessionKey[];
  /** Another call would find more to do. */
  readonly more: boolean;
}

/**
 * The log of every session. `append` resolves when the events are durable. It rejects with a JournalFault: of
 * kind 'failed' when it cannot know whether they are, and then every append after that rejects as well, at once
 * (7.4); of another kind when nothing of the call was written.
 *
 * Appends take effect in the order in which they were made, also those that were made before an earlier one
 * resolved. What has resolved is what `read`, `unfinished` and `list` see, and they may see more.
 */
export interface Journal {
  /**
   * One outcome for each append, in order. A stale one fails alone. Where there is no room, the whole call is
   * refused ('full'), and calls that hold an append for a new session are refused first (7.4).
   */
  append(batch: readonly Append[]): Promise<readonly AppendOutcome[]>;
  /**
   * The events after a sequence, in order, up to the last one at the time of the first `next`; nothing for a
   * session that does not exist. A log that is not whole rejects with 'corrupt', never with a gap (7.4).
   */
  read(key: SessionKey, afterSequence: number): AsyncIterable<SessionEvent>;
  /** The sessions whose head says unfinished, oldest first. */
  unfinished(): AsyncIterable<SessionKey>;
  /** How many conversations each subject has. It looks at every session: for the start. */
  tally(): Promise<readonly SessionTally[]>;
  /** A cursor that was not made for this query gives the refusal `undefined`. */
  list(query: ListQuery): Promise<ListPage | undefined>;
  /**
   * Removes sessions, the one that ended first before the others. One call does little, so that appends hardly
   * wait for it. A read that is under way meanwhile gives the whole log, or rejects. Rejects like `append`.
   */
  prune(query: PruneQuery): Promise<Pruned>;
  /** Those of a tenant's blobs that no session refers to. It may leave some out, and never names one too many. */
  unreferenced(tenant: string, digests: readonly Digest[]): Promise<readonly Digest[]>;
  /** Waits for what is queued, then closes. */
  close(): Promise<void>;
}

/** Names bytes: `sha256-` and 64 hexadecimal digits. */
export type Digest = string;

export interface CollectQuery {
  /** Blobs that were put again since are left alone: what refers to them may still be on its way. */
  readonly putBefore: Instant;
  /** Journal.unreferenced, or one that knows of more references. */
  readonly unreferenced: (tenant: string, digests: readonly Digest[]) => Promise<readonly Digest[]>;
}

/** What one step of a collection removed. */
export interface Collected {
  readonly blobs: number;
  readonly bytes: number;
}

/** Content-addressed bytes, apart for each tenant. Putting the same bytes twice keeps them once. */
export interface Blobs {
  /**
   * Resolves when the bytes are durable. They must not change until then. Rejects with a JournalFault. From then
   * on they are safe from a collection whose `putBefore` is not later, also where they were there before.
   */
  put(tenant: string, bytes: Uint8Array): Promise<Digest>;
  /**
   * The bytes in chunks of at most BLOB_CHUNK_BYTES; undefined where the tenant has no such blob. Bytes that are
   * not those that were put reject with 'corrupt' before the last chunk.
   */
  read(tenant: string, digest: Digest): Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * Looks at every blob once and removes what nothing refers to, in small steps: whoever iterates sets the pace,
   * and may stop. Rejects with a JournalFault.
   */
  collect(query: CollectQuery): AsyncIterable<Collected>;
  close(): Promise<void>;
}

/** How long a credential is good for, for streams that would outlive it. */
export interface Lifetime {
  readonly over: boolean;
  /** Calls back once, when it is over: at its expiry, or at once when it is revoked. The result stops waiting. */
  whenOver(ended: () => void): () => void;
}

/** Who asks. */
export interface Identity {
  /** Shared by all requests of a credential: never changed. */
  readonly caller: Caller;
  /** Absent for whoever is not asked for a credential, and for certificates, which end with their connection. */
  readonly lifetime?: Lifetime;
}

/** A client's certificate that an authority of ours has signed. */
export interface ClientCertificate {
  /** SHA-256 of the certificate, as lower-case hexadecimal digits without colons. */
  readonly fingerprint: string;
  /** The common name of its subject; empty where it has none. */
  readonly commonName: string;
  /** Its subject alternative names as Node writes them: `DNS:worker.example`, `URI:spiffe://example/worker`. */
  readonly alternativeNames: readonly string[];
  readonly validTo: Instant;
}

/** What a request brings to prove who asks (9.2). */
export interface Presented {
  /** The `authorization` header or metadata. */
  readonly authorization: string | undefined;
  /** Looked at only where certificates are configured: it costs a copy. */
  certificate(): ClientCertificate | undefined;
}

/** Says who asks, for every request of either port. A promise only where a signature has to be verified. */
export interface Credentials {
  authenticate(presented: Presented): Outcome<Identity> | Promise<Outcome<Identity>>;
}

/** Gives a place back that was counted, once however often it is called. */
export type Leave = () => void;

/**
 * What tenants and credentials may use. A refusal is RESOURCE_EXHAUSTED, and says when to try again. All is counted
 * at once, without a promise: of any number of requests at the same time, no more are let in than there is room for.
 */
export interface Quotas {
  /** A call, a turn or a session that somebody asks for, by the second; undefined where it may. */
  rate(caller: Caller): Refusal | undefined;
  /** A call or a turn that is about to be recorded. */
  begin(caller: Caller): Outcome<Leave>;
  /** One that is on record: counted as `begin` does, and never refused. */
  hold(caller: Caller): Leave;
  /** A stream that somebody opens. */
  stream(caller: Caller): Outcome<Leave>;
  /** A session that is about to be recorded. */
  keep(caller: Caller): Outcome<Leave>;
  /** Sessions of a subject that are on record now, or not any more. */
  kept(tenant: string, subject: string, change: number): void;
  /** Whether the number of kept sessions is limited for anybody. */
  readonly limitsSessions: boolean;
}

/** Something that somebody did, or was refused. Never a value of an argument, a result or a credential (9.4). */
export interface AuditFact {
  /** Absent: nobody knows who it was. */
  readonly caller?: Caller | undefined;
  /** What was asked: `spindle.v1.ToolService/CallTool`, say. */
  readonly method: string;
  readonly callId?: string;
  readonly sessionId?: string;
  /** The tool or the agent. */
  readonly name?: string;
  /** `ok`, or the reason of the refusal. */
  readonly outcome: string;
  /** The address that it came from. */
  readonly peer: string;
}

/** An AuditFact in its place in the record. Absent texts are empty. */
export interface AuditEntry {
  readonly sequence: number;
  readonly at: Instant;
  readonly tenant: string;
  readonly subject: string;
  readonly role: string;
  readonly credential: string;
  readonly method: string;
  readonly callId: string;
  readonly sessionId: string;
  readonly name: string;
  readonly outcome: string;
  readonly peer: string;
}

/** The record of who did what. Nothing in it is ever changed. */
export interface Audit {
  /** Neither throws nor waits: the record is written soon after. */
  record(fact: AuditFact): void;
  /** The entries behind a sequence, oldest first, up to those that were recorded before the first `next`. */
  read(afterSequence: number): AsyncIterable<AuditEntry>;
  /** Waits for what is still to be written. */
  close(): Promise<void>;
}

/** What is kept of a token: never its secret. */
export interface TokenRecord {
  readonly id: string;
  /** SHA-256 of the secret, which has 256 random bits, so that no slower hash is needed. 32 bytes. */
  readonly hash: Uint8Array;
  readonly role: GrantedRole;
  readonly tenant: string;
  readonly subject: string;
  /** Globs; empty: all. */
  readonly tools: readonly string[];
  readonly agents: readonly string[];
  readonly createdAt: Instant;
  /** Absent: never. */
  readonly expiresAt?: Instant;
  /** Absent: it was not revoked. */
  readonly revokedAt?: Instant;
}

/** Where tokens are kept. Few, and read at the start. Rejects with a JournalFault. */
export interface TokenStore {
  /** All of them, oldest first. */
  load(): Promise<readonly TokenRecord[]>;
  /** Resolves when the record is durable, in the place of an older one with its id. */
  put(record: TokenRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

export interface Clock {
  /** Wall time at the start of the process plus monotonic time since: it never goes back (7.2). */
  now(): Instant;
  /**
   * Calls back once, at or after an instant, however far away (timers over 2^31 ms work, 4.4). The result
   * disarms it. It does not keep the process alive.
   */
  alarm(at: Instant, ring: () => void): () => void;
}

export interface Random {
  /** Uniform in [0, 1). For jitter and selection. */
  draw(): number;
  /** 128 random bits from a cryptographic source, as 22 characters of base64url. For ids and tokens. */
  token(): string;
}

/** What an operator should know. Never holds a value of an argument, a result or a secret (9.4). */
export interface Observer {
  report(
    level: 'info' | 'warn' | 'error',
    event: string,
    facts: Readonly<Record<string, string | number>>,
  ): void;
}

/** A free slot of a connected worker, taken for one dispatch. */
export interface Reservation {
  readonly leaseToken: string;
  readonly instanceId: string;
  readonly streamNumber: number;
  readonly workerName: string;
  /** The definition that this worker serves. */
  readonly definition: Definition;
  /** The largest message that this worker reads, in bytes. */
  readonly maxMessageBytes: number;
}

/** A tool and who serves it. */
export interface Served {
  readonly definition: Definition;
  readonly workers: number;
  readonly workersWithOtherDefinition: number;
  /** The connector that offers it, where one does. */
  readonly connectorId?: string;
}

/** A dispatch that an earlier process of the engine had recorded, and that a worker may still hold. */
export interface ExpectedLease {
  readonly leaseToken: string;
  readonly tenant: string;
  readonly instanceId: string;
  readonly streamNumber: number;
  readonly workerName: string;
  readonly toolName: string;
}

/** What workers have bound of an agent: connected ones, and those within their grace. */
export interface Binding {
  /** Dotted names of the triggers that some of them want. */
  readonly triggers: ReadonlySet<string>;
  /** The configuration that the newest of them proposes at session.start; undefined where none has one. */
  readonly config: AgentConfig | undefined;
}

/** A free slot of a worker that is bound to an agent, taken for one delivery of a trigger. */
export interface DeciderReservation extends Omit<Reservation, 'definition'> {
  /** How much of the session it wants with each dispatch. */
  readonly context: ContextLevel;
}

/** Connected workers: who offers what, who is free, and the frames to and from them. */
export interface Workers {
  /** The definition in force: the newest that a connected worker declared, or the last one that there was. */
  find(tenant: string, toolName: string): Definition | undefined;
  /** Whether a call may name this definition: a worker serves it, connected or away, or it is remembered. */
  knows(tenant: string, digest: Digest): boolean;
  /** The definitions in force of workers that are connected, or within their grace: what globs match (6.3). */
  offered(tenant: string): readonly Definition[];
  /** Names that somebody declared, for the nearest ones to an unknown name. */
  served(tenant: string): readonly Served[];
  /**
   * Takes a slot under a new lease token: of the instance `last` where it is free, else of the less loaded of two
   * random workers that serve the definition in force, or of one that serves another where only such are connected
   * (5.11). Undefined: nobody is free.
   */
  reserve(tenant: string, toolName: string, sessionId: string, last?: string): Reservation | undefined;
  /** Whether a worker has bound an agent: it may decide beside its answers (5.12). */
  isBound(tenant: string, instanceId: string, agentId: string): boolean;
  /** Undefined where no worker has bound the agent. */
  binding(tenant: string, agentId: string): Binding | undefined;
  /**
   * Takes a slot under a new lease token: of a worker that is bound to the agent and wants the trigger, the
   * instance `last` where it is free, else the less loaded of two random ones. Undefined: nobody is free.
   */
  reserveDecider(
    tenant: string,
    agentId: string,
    trigger: string,
    sessionId: string,
    last?: string,
  ): DeciderReservation | undefined;
  /** How much of the session goes with a dispatch; undefined where its slot is no decider's. */
  contextOf(leaseToken: string): ContextLevel | undefined;
  /** Gives a slot back that was reserved and is not used. */
  release(leaseToken: string): void;
  /** Writes a dispatch to the stream that its lease is bound to. Never sent, it comes back as lost. */
  dispatch(leaseToken: string, dispatch: Dispatch): void;
  /** Asks the worker to stop. Its slot stays taken until it answers (4.4). */
  stop(leaseToken: string, reason: CancelReason): void;
  acknowledge(
    tenant: string,
    instanceId: string,
    leaseToken: string,
    verdict: AnswerVerdict,
    reason: string,
  ): void;
  /** At the start: what may still run somewhere, kept for the resume grace (5.8). */
  expect(leases: readonly ExpectedLease[]): void;
  listen(listener: WorkersListener): void;
}

/** Who sent a frame, as far as the engine has to know. */
export interface WorkerRef {
  readonly tenant: string;
  readonly instanceId: string;
}

/** Connected workers and their slots, as they stand. */
export interface WorkersStanding {
  readonly connected: number;
  /** Dispatches that the connected workers take at once. */
  readonly slots: number;
  /** Of these, taken; stuck ones are among them. */
  readonly used: number;
  /** Handlers that go on though the engine ended their dispatch (4.4). */
  readonly stuck: number;
}

/** What workers do, as the engine hears it. */
export interface WorkersListener {
  /** Resolves when the definitions are durable; before that nobody is served under them (7.5). */
  declared(tenant: string, definitions: readonly Definition[]): Promise<void>;
  answered(from: WorkerRef, answer: Answer): void;
  rejected(from: WorkerRef, reject: Reject): void;
  progressed(from: WorkerRef, progress: Progress): void;
  /** More of the answer of a model call that a worker makes. */
  modelDelta(from: WorkerRef, delta: ModelDelta): void;
  lost(from: WorkerRef, leaseToken: string, how: 'lost' | 'never_held' | 'never_sent'): void;
  /** The stream of a lease broke, or its worker came back: its heartbeat clock stands still meanwhile. */
  away(from: WorkerRef, leaseToken: string, away: boolean): void;
  /** A slot or a tool of this tenant's workers became available. */
  available(tenant: string): void;
}

/** One attempt of a model call. */
export interface ModelCall {
  readonly tenant: string;
  readonly callId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Bytes in it are blob references. Each call id in it has exactly one result (6.5). */
  readonly request: ModelRequest;
  /** The span of the attempt, for the provider's own. */
  readonly traceContext: Readonly<Record<string, string>>;
  /** Aborted when nobody wants the answer any more: the request to the provider is closed. */
  readonly signal: AbortSignal;
  /** Takes more of the answer as it comes. Must not be called after the promise has settled. */
  readonly onDelta: (delta: Delta) => void;
}

export type ModelAnswer =
  | { readonly kind: 'response'; readonly response: ModelResponse }
  /** `retryable` and `retry_after` say what the provider's status said. */
  | { readonly kind: 'failure'; readonly failure: Failure };

/** Model providers, by the part of `provider/model` before the slash. */
export interface Models {
  /** Why a model cannot be called, in a sentence that says what to do; undefined where it can. */
  fault(model: string): string | undefined;
  /** Rejects for bugs alone; an aborted call may settle in any way, nobody looks. */
  call(call: ModelCall): Promise<ModelAnswer>;
  /** The tools that a request to the model goes without, since its provider cannot be told about them (2.6). */
  toolsLeftOut?(model: string, tools: readonly Tool[]): readonly ToolLeftOut[];
}

export interface ToolLeftOut {
  readonly name: string;
  readonly reason: string;
}

/** A tool of an MCP server. */
export interface ConnectorTool {
  /** Named `connector__name`, with the handler CONNECTOR. */
  readonly definition: Definition;
  /** Its name on the server, for the filters of ConnectorUse. */
  readonly serverName: string;
}

export type ConnectorTools =
  | { readonly kind: 'tools'; readonly tools: readonly ConnectorTool[] }
  /** The turn goes on without them, and says so (6.15). */
  | { readonly kind: 'failed'; readonly reason: string };

/** Servers whose tools the engine calls itself. Their calls go through the port Workers, like those of any worker. */
export interface Connectors {
  /** What a server offers: fetched once a session, within bounds. Never rejects. */
  tools(tenant: string, connectorId: string, sessionId: string): Promise<ConnectorTools>;
}

/** A request that was refused before anything was recorded of it. */
export interface RefusedRequest {
  readonly tenant: string;
  readonly toolName: string;
  readonly callId: string;
  readonly traceContext: Readonly<Record<string, string>>;
  readonly reason: RefusalReason;
  readonly at: Instant;
}

/** Hears what became durable, in order, for spans, metrics and the log (8). It must neither throw nor wait. */
export interface Recorder {
  /** @param session as it is after the events */
  recorded(key: SessionKey, events: readonly SessionEvent[], session: Session): void;
  /** The log of a session that is taken into memory: it tells what still lasts. */
  readonly replayed?: (key: SessionKey, events: readonly SessionEvent[]) => void;
  /** The session is not in memory any more; before its next event its whole log is replayed, or it is new. */
  readonly dropped?: (key: SessionKey) => void;
  readonly refused?: (request: RefusedRequest) => void;
  /**
   * The trace context for whoever does the work of an activity (core/activity.ts), which is the parent of theirs
   * (8.2). Without this it is the caller's own.
   *
   * @param origin of the session's direct call, or of its running turn
   */
  readonly contextOf?: (
    key: SessionKey,
    origin: () => TraceOrigin,
    activityName: string,
  ) => Readonly<Record<string, string>>;
}
