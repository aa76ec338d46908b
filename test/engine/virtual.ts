/**
 * A whole engine on virtual time: real rules, runners, registry and streams; a clock that only tests move, seeded
 * randomness, the memory journal, and streams that are two arrays. Minutes pass in microseconds, and the same
 * seed gives the same run.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Caller, CallerSchema } from '../../gen/spindle/v1/call_pb.ts';
import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResponse,
  type CallUpdate,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import {
  type Acknowledge,
  type AnswerSchema,
  type ConnectRequest,
  ConnectRequestSchema,
  type Dispatch,
  type EngineFrame,
  type HelloSchema,
  type Welcome,
  type WorkerFrameSchema,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Refusal } from '../../src/core/refusal.ts';
import { buildEngine, type Engine, type EngineOptions } from '../../src/engine/engine.ts';
import type {
  AppendOutcome,
  Blobs,
  Clock,
  Journal,
  JournalErrorKind,
  Random,
} from '../../src/engine/ports.ts';
import { JournalError } from '../../src/journal/journal-error.ts';
import { createMemoryJournal } from '../../src/journal/memory.ts';
import { createMemoryBlobs } from '../../src/journal/memory-blobs.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { createRegistry, type Registry } from '../../src/workers/registry.ts';
import { createResumeTokens } from '../../src/workers/resume-token.ts';
import { createWorkerStreams, type WorkerStreams } from '../../src/workers/streams.ts';
import type { Transport } from '../../src/workers/transport.ts';
import type { Report } from '../e2e/engine.ts';

export type FrameKind = NonNullable<MessageInitShape<typeof WorkerFrameSchema>['kind']>;
export type HelloInit = Extract<MessageInitShape<typeof HelloSchema>, { readonly $typeName?: never }>;
export type Outcome = NonNullable<MessageInitShape<typeof AnswerSchema>['outcome']>;

/** Any day will do. */
const START = Date.UTC(2030, 0, 1);
export const TENANT = 'default';
export const CALLER: Caller = create(CallerSchema, { tenant: TENANT, subject: 'somebody' });

/** A clock that stands still unless it is moved. */
export interface VirtualClock extends Clock {
  /** Alarms that are set. */
  readonly alarms: number;
  /** Rings the next alarm up to an instant, at its time; false where there is none. */
  ringNext(upTo: number): boolean;
  moveTo(instant: number): void;
}

export function virtualClock(): VirtualClock {
  let now = START;
  let order = 0;
  const alarms = new Map<number, { readonly at: number; readonly ring: () => void }>();
  return {
    now: () => now,
    alarm(at, ring) {
      const id = ++order;
      alarms.set(id, { at, ring });
      return () => alarms.delete(id);
    },
    get alarms() {
      return alarms.size;
    },
    ringNext(upTo) {
      const [next] = [...alarms]
        .filter(([, { at }]) => at <= upTo)
        .sort(([a, x], [b, y]) => x.at - y.at || a - b);
      if (next === undefined) return false;
      const [id, { at, ring }] = next;
      alarms.delete(id);
      now = Math.max(now, at);
      ring();
      return true;
    },
    moveTo(instant) {
      now = Math.max(now, instant);
    },
  };
}

/** The same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed;
  let tokens = 0;
  return {
    draw() {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
    },
    token: () => `token-${++tokens}`,
  };
}

/** The memory journal, of which a test may refuse or hold appends. */
export interface TestJournal extends Journal {
  /** Set: every append is refused in this way. */
  fault: JournalErrorKind | undefined;
  /** Set: nothing old is removed, for this reason. */
  pruneFault: JournalErrorKind | undefined;
  /** Sessions whose logs cannot be read, and cannot be appended to. */
  readonly damaged: Set<string>;
  /** Set: what every list leads to, as damaged heads would have it. */
  misled: readonly string[] | undefined;
  /** Appends wait until `letGo`. */
  hold(): void;
  letGo(): void;
  readonly appended: number;
  /** Hears every event that became durable. */
  onAppended: ((events: readonly SessionEvent[]) => void) | undefined;
  /** The engine is killed when so many appends are durable, before it hears that the last one is. */
  killAt: number | undefined;
}

export function testJournal(): TestJournal {
  const journal = createMemoryJournal();
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  let appended = 0;
  const rejectDamaged = (sessionId: string): void => {
    if (tested.damaged.has(sessionId)) throw new JournalError('corrupt', `${sessionId} is damaged`);
  };
  const tested: TestJournal = {
    ...journal,
    fault: undefined,
    pruneFault: undefined,
    damaged: new Set(),
    misled: undefined,
    onAppended: undefined,
    killAt: undefined,
    hold: () => {
      gate = Promise.withResolvers();
    },
    letGo: () => gate.resolve(),
    get appended() {
      return appended;
    },
    async append(batch): Promise<readonly AppendOutcome[]> {
      await gate.promise;
      if (tested.fault !== undefined) throw new JournalError(tested.fault, 'as the test says');
      for (const { key } of batch) rejectDamaged(key.sessionId);
      appended += batch.length;
      const outcomes = await journal.append(batch);
      for (const [index, { events }] of batch.entries())
        if (outcomes[index]?.kind === 'appended') tested.onAppended?.(events);
      return outcomes;
    },
    async *read(key, afterSequence) {
      rejectDamaged(key.sessionId);
      yield* journal.read(key, afterSequence);
    },
    async list(query) {
      return tested.misled === undefined ? journal.list(query) : { sessionIds: tested.misled };
    },
    async prune(query) {
      if (tested.pruneFault !== undefined) throw new JournalError(tested.pruneFault, 'as the test says');
      return journal.prune(query);
    },
  };
  return tested;
}

/** A call, as its caller sees it. */
export interface VirtualCall {
  readonly callId: string;
  readonly updates: readonly CallUpdate[];
  readonly end: CallToolResponse | undefined;
  readonly refusal: Refusal | undefined;
  stop(): void;
}

/** One stream of a worker. */
export interface VirtualStream {
  readonly frames: readonly EngineFrame[];
  /** Messages, by their number of frames. */
  readonly batches: readonly number[];
  /** How the engine ended it: 'OK', or the reason of a refusal. */
  readonly ended: string | undefined;
  readonly welcome: Welcome | undefined;
  readonly paused: boolean;
  /** What the peer's reader says to the next writes. */
  blocked: boolean;
  send(...kinds: readonly FrameKind[]): Promise<void>;
  answer(leaseToken: string, outcome: Outcome): Promise<void>;
  heartbeat(receivedThrough: number, ...held: readonly string[]): Promise<void>;
  /** Dispatches so far, oldest first. */
  dispatches(): readonly Dispatch[];
  execute(index: number): { readonly leaseToken: string; readonly execute: ToolExecute };
  acknowledgements(): readonly Acknowledge[];
  cancels(): readonly string[];
  drain(): Promise<void>;
  halfClose(): Promise<void>;
  vanish(): Promise<void>;
}

export interface VirtualEngine {
  readonly engine: Engine;
  readonly registry: Registry;
  readonly streams: WorkerStreams;
  readonly clock: VirtualClock;
  readonly journal: TestJournal;
  readonly blobs: Blobs;
  readonly reports: readonly Report[];
  readonly failures: readonly unknown[];
  /** False once it was killed. */
  readonly isAlive: boolean;
  /** Lets everything happen that needs no time. */
  settle(): Promise<void>;
  /** Lets time pass; what is due happens at its time. */
  advance(millis: number): Promise<void>;
  call(request: Partial<Omit<CallToolRequest, '$typeName'>>, caller?: Caller): VirtualCall;
  /** A stream on which nothing has been said. */
  open(): VirtualStream;
  /** A stream that has said hello and sent its first heartbeat. */
  connect(hello: HelloInit): Promise<VirtualStream>;
  /** Another engine on what this one has recorded. This one is forgotten, as by a kill. */
  restart(): Promise<VirtualEngine>;
}

interface Kept {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly journal: TestJournal;
  readonly blobs: Blobs;
  readonly retainMs: number | undefined;
  readonly more: VirtualOptions;
}

/** What an engine has beside its ports. */
export type VirtualOptions = Pick<EngineOptions, 'models' | 'connectors' | 'agents'>;

/** Nothing is ever removed unless `retainMs` is given. */
export function virtualEngine(
  seed = 1,
  retainMs?: number,
  more: VirtualOptions = {},
): Promise<VirtualEngine> {
  const clock = virtualClock();
  const random = seededRandom(seed);
  return start({
    clock,
    random,
    journal: testJournal(),
    blobs: createMemoryBlobs({ now: clock.now }),
    retainMs,
    more,
  });
}

async function start(kept: Kept): Promise<VirtualEngine> {
  const { clock, random, journal, blobs, retainMs, more } = kept;
  const reports: Report[] = [];
  const failures: unknown[] = [];
  const observer = {
    report: (level: string, event: string, facts: Report['facts']) => reports.push({ level, event, facts }),
  };
  const schemas = createSchemas();
  let due: (() => void)[] = [];
  let alive = true;
  /** An engine that was killed does nothing any more. */
  const own: Clock = {
    now: clock.now,
    alarm: (at, ring) => clock.alarm(at, () => alive && ring()),
  };
  const soon = (run: () => void): void => {
    due.push(run);
  };
  const resumeTokens = createResumeTokens(new Uint8Array(32));
  const registry = createRegistry({ clock: own, random, observer, schemas, resumeTokens, soon });
  const streams = createWorkerStreams(registry);
  const engine = buildEngine({
    journal: {
      ...journal,
      async append(batch) {
        const outcomes = alive ? await journal.append(batch) : [];
        if (journal.killAt !== undefined && journal.appended >= journal.killAt) {
          alive = false;
          journal.killAt = undefined;
        }
        return alive ? outcomes : new Promise(() => undefined);
      },
    },
    blobs,
    clock: own,
    random,
    workers: registry,
    schemas,
    observer,
    retainMs,
    ...more,
    failed: (error) => failures.push(error),
  });
  await engine.recover();

  const settle = async (): Promise<void> => {
    for (let quiet = 0; quiet < 3; quiet++) {
      if (due.length > 0) quiet = 0;
      const now = due;
      due = [];
      for (const run of now) if (alive) run();
      await new Promise(setImmediate);
    }
  };

  const open = (): VirtualStream => openVirtualStream(streams, settle);
  return {
    engine,
    registry,
    streams,
    clock,
    journal,
    blobs,
    reports,
    failures,
    get isAlive() {
      return alive;
    },
    settle,
    async advance(millis) {
      const end = clock.now() + millis;
      await settle();
      while (clock.ringNext(end)) await settle();
      clock.moveTo(end);
    },
    call(request, caller = CALLER) {
      const updates: CallUpdate[] = [];
      let end: CallToolResponse | undefined;
      let refusal: Refusal | undefined;
      const message = create(CallToolRequestSchema, { callId: random.token(), arguments: '{}', ...request });
      const stop = engine.calls.request(caller, message, {
        wantsAll: true,
        update(update) {
          updates.push(update);
          if (update.kind.case === 'finished') end = update.kind.value;
        },
        lost: (lost) => {
          refusal = lost;
        },
      });
      return {
        callId: message.callId,
        updates,
        get end() {
          return end;
        },
        get refusal() {
          return refusal;
        },
        stop,
      };
    },
    open,
    async connect(hello) {
      const stream = open();
      await stream.send({ case: 'hello', value: hello });
      await stream.heartbeat(0);
      return stream;
    },
    restart() {
      alive = false;
      return start(kept);
    },
  };
}

export function openVirtualStream(streams: WorkerStreams, settle: () => Promise<void>): VirtualStream {
  const frames: EngineFrame[] = [];
  const batches: number[] = [];
  let ended: string | undefined;
  let paused = false;
  let heartbeats = 0;
  let unread: ConnectRequest[] = [];
  let receive: (message: ConnectRequest) => void = () => undefined;
  let peerEnded = (): void => undefined;
  let gone: (reason: string) => void = () => undefined;
  let drained = (): void => undefined;
  const transport: Transport = {
    peer: 'virtual',
    onMessage: (callback) => {
      receive = callback;
    },
    onEnd: (callback) => {
      peerEnded = callback;
    },
    onGone: (callback) => {
      gone = callback;
    },
    onDrain: (callback) => {
      drained = callback;
    },
    write(message) {
      frames.push(...message.frames);
      batches.push(message.frames.length);
      return !stream.blocked;
    },
    end: (refusal) => {
      ended ??= refusal?.reason ?? 'OK';
    },
    pause: () => {
      paused = true;
    },
    resume: () => {
      paused = false;
      const messages = unread;
      unread = [];
      messages.forEach(receive);
    },
  };
  const kindsOf = <C extends EngineFrame['kind']['case']>(wanted: C) =>
    frames.flatMap(({ kind }) => (kind.case === wanted && kind.value !== undefined ? [kind.value] : []));
  const stream: VirtualStream = {
    frames,
    batches,
    blocked: false,
    get ended() {
      return ended;
    },
    get paused() {
      return paused;
    },
    get welcome() {
      return kindsOf('welcome').find((value) => value.$typeName === 'spindle.v1.Welcome');
    },
    send(...kinds) {
      const message = create(ConnectRequestSchema, { frames: kinds.map((kind) => ({ kind })) });
      if (paused) unread.push(message);
      else if (ended === undefined) receive(message);
      return settle();
    },
    answer: (leaseToken, outcome) => stream.send({ case: 'answer', value: { leaseToken, outcome } }),
    heartbeat: (receivedThrough, ...held) =>
      stream.send({ case: 'heartbeat', value: { sequence: ++heartbeats, receivedThrough, held: [...held] } }),
    dispatches: () => kindsOf('dispatch').filter((value) => value.$typeName === 'spindle.v1.Dispatch'),
    execute(index) {
      const dispatch = stream.dispatches().at(index);
      const execute = dispatch?.trigger?.kind.value;
      if (dispatch === undefined || execute?.$typeName !== 'spindle.v1.ToolExecute')
        throw new Error(`there is no dispatch ${index} of ${stream.dispatches().length}`);
      return { leaseToken: dispatch.leaseToken, execute };
    },
    acknowledgements: () =>
      kindsOf('acknowledge').filter((value) => value.$typeName === 'spindle.v1.Acknowledge'),
    cancels: () =>
      kindsOf('cancel').flatMap((value) =>
        value.$typeName === 'spindle.v1.Cancel' ? [value.leaseToken] : [],
      ),
    drain() {
      stream.blocked = false;
      drained();
      return settle();
    },
    halfClose() {
      peerEnded();
      return settle();
    },
    vanish() {
      gone('it vanished');
      return settle();
    },
  };
  streams.serve({ caller: CALLER }, transport);
  return stream;
}

/** A hello of a process, with tools by name or by definition. */
export function hello(
  instanceId: string,
  tools: readonly (string | MessageInitShape<typeof ToolSchema>)[],
  more: HelloInit = {},
): HelloInit {
  const offers = tools.map((tool) => ({ tool: typeof tool === 'string' ? { name: tool } : tool }));
  return { instanceId, streamNumber: 1, tools: offers, ...more };
}

export const textResult = (text: string): Outcome => ({
  case: 'result',
  value: { content: [{ kind: { case: 'text', value: { text } } }] },
});
