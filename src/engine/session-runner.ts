import { create } from '@bufbuild/protobuf';
import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { Delta } from '../../gen/spindle/v1/message_pb.ts';
import type { Progress } from '../../gen/spindle/v1/progress_pb.ts';
import { type CallUpdate, CallUpdateSchema } from '../../gen/spindle/v1/tool_service_pb.ts';
import type { Command, Heard } from '../core/command.ts';
import { decide } from '../core/decide.ts';
import { JOURNAL_RETRY_MS, MAX_MAILBOX } from '../core/limits.ts';
import type { Deciders } from '../core/loop/advance.ts';
import { type Effect, effectName, isUnfinished, owed } from '../core/owed.ts';
import { accepted, type Outcome, type Refusal, refused } from '../core/refusal.ts';
import type { AnswerRuling } from '../core/ruling.ts';
import type { Session } from '../core/session.ts';
import type { Instant } from '../core/time.ts';
import { wakeup } from '../core/timers.ts';
import { unreachable } from '../core/unreachable.ts';
import { NOWHERE, type Sleeper } from './alarms.ts';
import type { AppendSession } from './appends.ts';
import type { InFlight } from './in-flight.ts';
import type { Clock, Recorder, SessionHead, SessionKey } from './ports.ts';
import { referencesOf } from './references.ts';
import { updateOf } from './updates.ts';
import type { CallWatcher, SessionFollower } from './watchers.ts';

/** What became of a command, once it is durable. */
export interface Done {
  readonly session: Session;
  /** It led to events: it was not there before. */
  readonly changed: boolean;
  readonly answer: AnswerRuling | undefined;
}

export type Reply = (outcome: Outcome<Done>) => void;

export interface RunnerOptions {
  readonly clock: Clock;
  readonly append: AppendSession;
  readonly perform: (runner: SessionRunner, effect: Effect) => void;
  /** An effect of a conversation is not owed any more: who performs it may stop. */
  readonly withdraw: (runner: SessionRunner, effectName: string) => void;
  /** Who decides for the agent of a conversation now. */
  readonly deciders: (runner: SessionRunner) => Deciders;
  /** Sets the one alarm of the session. */
  readonly alarm: (runner: SessionRunner, at: Instant | undefined) => void;
  /** After each step: nothing may be owed any more. */
  readonly settled: (runner: SessionRunner) => void;
  /** The session is somebody else's now, or the journal failed: this copy is dropped (7.3). */
  readonly dropped: (runner: SessionRunner, error: unknown) => Refusal;
  /** Nothing of the append was written, and a later one may be: the journal is full, say. Else undefined. */
  readonly postponed: (error: unknown) => Refusal | undefined;
  readonly recorder?: Recorder | undefined;
  /** Counts what is on record, for limits. */
  readonly inFlight?: InFlight | undefined;
}

interface Letter {
  readonly command: Command;
  readonly reply: Reply;
}

/**
 * Owns one session in memory: one mailbox, one command at a time. Events are appended first; watchers hear,
 * replies go out and effects are performed only after the append is durable (7.1).
 */
export class SessionRunner implements Sleeper {
  session: Session;
  readonly key: SessionKey;
  /** What the journal keeps beside the log, but for `unfinished`, which follows from the session. */
  readonly head: Omit<SessionHead, 'unfinished'>;
  /** A checkpoint that waits for its second to pass, and when the last one was written. */
  pendingCheckpoint: { readonly leaseToken: string; readonly bytes: Uint8Array } | undefined;
  lastCheckpointAt: Instant = 0;
  /** Who is about to use it, and has not sent a command yet (Sessions.hold). */
  holds = 0;
  wakesAt: Instant = 0;
  place = NOWHERE;
  readonly #options: RunnerOptions;
  /** Made with the first report: most calls end without one. */
  #heard: Map<string, Instant | 'away'> | undefined;
  #mailbox: Letter[] = [];
  /** No clock of a call that outlived a restart runs out before this (5.8). */
  #graceUntil: Instant = 0;
  #appending = false;
  #dropped = false;
  #performed = new Set<string>();
  #watchers: CallWatcher[] = [];
  #followers: SessionFollower[] = [];

  constructor(options: RunnerOptions, key: SessionKey, head: SessionRunner['head'], session: Session) {
    this.#options = options;
    this.key = key;
    this.head = head;
    this.session = session;
  }

  /** When running leases last reported progress. */
  get heard(): Heard {
    return this.#heard ?? NOTHING_HEARD;
  }

  /** A running lease reported progress, or its worker went away. */
  hear(leaseToken: string, at: Instant | 'away'): void {
    this.#heard ??= new Map();
    this.#heard.set(leaseToken, at);
  }

  get isIdle(): boolean {
    return !this.#appending && this.#mailbox.length === 0;
  }

  get isWatched(): boolean {
    return this.#watchers.length > 0 || this.#followers.length > 0;
  }

  get watcherCount(): number {
    return this.#watchers.length;
  }

  watch(watcher: CallWatcher): void {
    // An array that grows by itself gets room for sixteen; nearly every call has one watcher.
    this.#watchers = [...this.#watchers, watcher];
  }

  get followerCount(): number {
    return this.#followers.length;
  }

  /** Hears every event from now on, until `unfollow`. */
  follow(follower: SessionFollower): void {
    this.#followers.push(follower);
  }

  unfollow(follower: SessionFollower): void {
    this.#followers = this.#followers.filter((other) => other !== follower);
    this.#rest();
  }

  /** Something that passes and is not kept. */
  tellDelta(delta: Delta): void {
    for (const follower of this.#followers) follower.delta(delta);
  }

  unwatch(watcher: CallWatcher): void {
    this.#watchers = this.#watchers.filter((other) => other !== watcher);
  }

  /** Takes a command. The reply comes when what it led to is durable, or at once where it leads to nothing. */
  send(command: Command, reply: Reply): void {
    if (this.#dropped) {
      reply(refused('session_moved', 'the session is not here any more; try again'));
      return;
    }
    if (this.#mailbox.length >= MAX_MAILBOX) {
      reply(refused('overloaded', `${MAX_MAILBOX} commands wait for this session, which is its limit`));
      return;
    }
    if (this.#appending) this.#mailbox.push({ command, reply });
    else this.#step([{ command, reply }]);
  }

  /** Looks at the clocks, and does what is owed by now. */
  wake(draw: number): void {
    this.send({ kind: 'tick', at: this.#options.clock.now(), draw, heard: this.heard }, ({ ok }) => {
      if (ok) this.#perform();
    });
  }

  /** Takes up a session that was read from the journal. Its clocks do not run out before the grace is over. */
  resume(graceUntil: Instant): void {
    this.#graceUntil = graceUntil;
    this.#perform();
  }

  /** Tells who waits that this engine goes away; the session itself is in the journal. */
  abandon(refusal: Refusal): void {
    this.#dropped = true;
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const watcher of watchers) watcher.lost(refusal);
    const followers = this.#followers;
    this.#followers = [];
    for (const follower of followers) follower.lost(refusal);
  }

  progress(callId: string, progress: Progress): void {
    this.#tell(create(CallUpdateSchema, { callId, kind: { case: 'progress', value: progress } }));
  }

  /** Decides what waited, and appends all that it leads to at once. */
  #step(letters: readonly Letter[]): void {
    const before = this.session.sequence;
    let session = this.session;
    let events: readonly SessionEvent[] = NO_EVENTS;
    const outcomes = letters.map(({ command }): Outcome<Done> => {
      const decided = decide(session, command, this.#options.deciders(this));
      if (decided.kind === 'refused') return { ok: false, refusal: decided.refusal };
      session = decided.session;
      events = events.length === 0 ? decided.events : [...events, ...decided.events];
      return accepted({ session, changed: decided.events.length > 0, answer: decided.answer });
    });
    if (events.length === 0) {
      replyAll(letters, outcomes);
      this.#rest();
      return;
    }
    this.#appending = true;
    const head = { ...this.head, unfinished: isUnfinished(session) };
    const append = { key: this.key, expectedSequence: before, events, head, ...referencesOf(events) };
    this.#options.append(append, (settled) => {
      switch (settled.kind) {
        case 'appended':
          this.#commit(session, events, letters, outcomes);
          return;
        case 'conflict':
          this.#drop(letters, undefined);
          return;
        case 'failed':
          this.#fail(letters, settled.error);
          return;
        default:
          unreachable(settled);
      }
    });
  }

  #fail(letters: readonly Letter[], error: unknown): void {
    const refusal = this.#options.postponed(error);
    if (refusal === undefined) this.#drop(letters, error);
    else this.#postpone(letters, refusal);
  }

  /**
   * Nothing was written. What clients asked for is refused, so that they may try again; what workers and clocks
   * say would be lost with them, so it is decided again a little later.
   */
  #postpone(letters: readonly Letter[], refusal: Refusal): void {
    const { clock } = this.#options;
    clock.alarm(clock.now() + JOURNAL_RETRY_MS, () => {
      this.#appending = false;
      this.#stepOn();
    });
    this.#mailbox.unshift(...letters.filter(({ command }) => !isFromClient(command)));
    for (const { command, reply } of letters) if (isFromClient(command)) reply({ ok: false, refusal });
  }

  #commit(
    session: Session,
    events: readonly SessionEvent[],
    letters: readonly Letter[],
    outcomes: readonly Outcome<Done>[],
  ): void {
    this.#appending = false;
    const isNew = this.session.sequence === 0;
    this.session = session;
    const { inFlight } = this.#options;
    if (inFlight !== undefined) {
      // Before those who asked are answered, who give their places back then.
      if (isNew) inFlight.created(this);
      inFlight.standing(this);
    }
    this.#options.recorder?.recorded(this.key, events, session);
    if (this.#watchers.length > 0) this.#announce(events);
    for (const follower of this.#followers) follower.events(events, session);
    replyAll(letters, outcomes);
    this.#perform();
    // What was performed may have sent a command already, and its append is under way.
    if (this.#appending) return;
    if (this.#mailbox.length > 0) this.#stepOn();
    else this.#rest();
  }

  #stepOn(): void {
    const letters = this.#mailbox;
    this.#mailbox = [];
    this.#step(letters);
  }

  #announce(events: readonly SessionEvent[]): void {
    for (const event of events) {
      const last = event.kind.case === 'toolCallFinished';
      if (!last && !this.#watchers.some(({ wantsAll }) => wantsAll)) continue;
      const update = updateOf(event);
      if (update !== undefined) this.#tell(update, last);
    }
  }

  #tell(update: CallUpdate, last = false): void {
    const watchers = this.#watchers;
    if (last) this.#watchers = [];
    for (const watcher of watchers) if (last || watcher.wantsAll) watcher.update(update);
  }

  /** Performs what is owed and has not been performed yet, and arms the alarm. */
  #perform(): void {
    const effects = owed(this.session, this.#options.clock.now());
    for (const effect of effects) {
      const name = effectName(effect);
      if (this.#performed.has(name)) continue;
      this.#performed.add(name);
      this.#options.perform(this, effect);
    }
    if (this.session.conversation !== undefined) this.#withdraw(effects);
    this.rearm();
  }

  /** Forgets what is not owed any more. A conversation lives long; a direct call goes with all that it did. */
  #withdraw(effects: readonly Effect[]): void {
    const names = new Set(effects.map(effectName));
    for (const name of this.#performed) {
      if (names.has(name)) continue;
      this.#performed.delete(name);
      this.#options.withdraw(this, name);
    }
  }

  /** Does an effect once more: it could not be done when it was owed first. */
  again(name: string): void {
    if (this.#dropped) return;
    this.#performed.delete(name);
    this.#perform();
  }

  /** The same a little later: there was no room for what the effect has to store, and there may be (7.4). */
  againLater(name: string): void {
    const { clock } = this.#options;
    clock.alarm(clock.now() + JOURNAL_RETRY_MS, () => this.again(name));
  }

  /** Sets the alarm to the next clock that runs out. */
  rearm(): void {
    const at = wakeup(this.session, this.#options.clock.now(), this.heard);
    this.#options.alarm(this, at === undefined ? undefined : Math.max(at, this.#graceUntil));
  }

  #rest(): void {
    if (this.isIdle) this.#options.settled(this);
  }

  #drop(letters: readonly Letter[], error: unknown): void {
    this.#dropped = true;
    this.#options.alarm(this, undefined);
    const refusal = this.#options.dropped(this, error);
    const waiting = [...letters, ...this.#mailbox];
    this.#mailbox = [];
    // Who is told by a reply may stop watching then, and go on elsewhere.
    for (const { reply } of waiting) reply({ ok: false, refusal });
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const watcher of watchers) watcher.lost(refusal);
    const followers = this.#followers;
    this.#followers = [];
    for (const follower of followers) follower.lost(refusal);
  }
}

const NOTHING_HEARD: Heard = new Map();
const NO_EVENTS: readonly SessionEvent[] = [];

function replyAll(letters: readonly Letter[], outcomes: readonly Outcome<Done>[]): void {
  for (let index = 0; index < letters.length; index++) {
    const outcome = outcomes[index];
    if (outcome !== undefined) letters[index]?.reply(outcome);
  }
}

function isFromClient({ kind }: Command): boolean {
  switch (kind) {
    case 'request':
    case 'settle':
    case 'cancel':
    case 'resume':
    case 'create':
    case 'start_turn':
    case 'cancel_turn':
      return true;
    default:
      return false;
  }
}
