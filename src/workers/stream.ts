import { create } from '@bufbuild/protobuf';
import {
  type ConnectRequest,
  type EngineFrame,
  GoAwayReason,
  GoAwayReasonSchema,
  GoAwaySchema,
  type Hello,
  type WorkerFrame,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import {
  HELLO_TIMEOUT_MS,
  MAX_MESSAGE_BYTES,
  MAX_UNREAD_ANSWERS,
  RESUME_GRACE_MS,
  SETTLED_RECHECK_MS,
  SHUTDOWN_GRACE_MS,
  SILENCE_TIMEOUT_MS,
  SLOW_READER_MS,
  STREAM_AGE_MS,
  UNREAD_RECHECK_MS,
} from '../core/limits.ts';
import { type Refusal, refused } from '../core/refusal.ts';
import { duration, type Millis } from '../core/time.ts';
import { connect } from './connect.ts';
import { createFrameHandler, type FrameHandler } from './frames.ts';
import type { Instance, Link } from './instance.ts';
import { createOutbox } from './outbox.ts';
import type { Registry } from './registry.ts';
import type { Transport } from './transport.ts';
import type { StreamOwner } from './worker-rights.ts';

export interface WorkerStream {
  /** Asks the worker to reconnect elsewhere, and dispatches nothing more (5.3). */
  goAway(reason: GoAwayReason, closesAfter: Millis): void;
  /** Ends the stream. */
  close(refusal?: Refusal): void;
}

/** Why a worker is not read for a while: what it said last has to be stored, or it reads too little itself. */
type Hold = 'hello' | 'tools' | 'answers' | 'reader';

/**
 * Serves one stream of a worker, from its hello to its end (section 5).
 *
 * @param over called once, when the stream has ended
 */
export function serveStream(
  registry: Registry,
  { caller, lifetime }: StreamOwner,
  transport: Transport,
  over: () => void,
): WorkerStream {
  const { clock, observer, soon, resumeGraceMs = RESUME_GRACE_MS } = registry.options;
  let instance: Instance | undefined;
  let handler: FrameHandler | undefined;
  let state: 'hello' | 'connecting' | 'connected' | 'closed' = 'hello';
  /** Frames behind a hello that is not accepted yet. The transport is paused meanwhile, so they are few. */
  let early: WorkerFrame[] = [];
  let lastHeard = clock.now();
  const alarms = new Set<() => void>();
  /** Set while the worker reads too slowly. */
  let cancelSlow: (() => void) | undefined;
  /** Frames that were written since the worker began to read too slowly. */
  let behind = 0;
  /** Why the worker is not read for a while. */
  const holds = new Set<Hold>();

  const hold = (why: Hold): void => {
    if (holds.size === 0) transport.pause();
    holds.add(why);
  };
  const letGo = (why: Hold): void => {
    if (holds.delete(why) && holds.size === 0) transport.resume();
  };

  const after = (millis: Millis, ring: () => void): (() => void) => {
    const cancel = (): void => {
      alarms.delete(cancel);
      disarm();
    };
    const disarm = clock.alarm(clock.now() + millis, () => {
      alarms.delete(cancel);
      ring();
    });
    alarms.add(cancel);
    return cancel;
  };

  const outbox = createOutbox({
    soon,
    maxMessageBytes: () => instance?.maxMessageBytes ?? MAX_MESSAGE_BYTES,
    write(message) {
      if (state === 'closed') return true;
      const free = transport.write(message);
      if (!free) behind += message.frames.length;
      // Each frame of the worker's asks for one of ours, so a worker that only writes is not read either (5.10).
      if (behind >= MAX_UNREAD_ANSWERS) hold('reader');
      if (!free && cancelSlow === undefined) {
        cancelSlow = after(SLOW_READER_MS, () => sendAway(GoAwayReason.SLOW_READER));
      }
      return free;
    },
  });

  const link: Link = {
    streamNumber: 0,
    outbox,
    ready: false,
    leaving: false,
    sequence: 0,
    replace: () => sendAway(GoAwayReason.REPLACED),
  };

  /** Forgets the stream; what its worker holds waits for it to come back (5.5). */
  const leave = (reason: string): void => {
    if (state === 'closed') return;
    if (state === 'connected')
      observer.report('info', 'worker_left', { worker: instance?.workerName ?? '', reason });
    state = 'closed';
    for (const cancel of [...alarms]) cancel();
    stopWaiting?.();
    if (instance?.link !== undefined && isOurs(instance)) registry.suspend(instance);
    over();
  };

  const isOurs = (candidate: Instance): boolean => candidate.link?.outbox === outbox;

  const close = (reason: string, refusal?: Refusal): void => {
    if (state === 'closed') return;
    outbox.flush();
    leave(reason);
    transport.end(refusal);
  };

  const refuse = (refusal: Refusal): void => close(refusal.message, refusal);

  const fail = (message: string): void => {
    observer.report('warn', 'worker_protocol_error', {
      worker: instance?.workerName ?? transport.peer,
      message,
    });
    refuse(refused('protocol_error', message).refusal);
  };

  const goAway = (reason: GoAwayReason, closesAfter: Millis): void => {
    if (state === 'closed') return;
    link.ready = false;
    link.leaving = true;
    const wait = reason === GoAwayReason.CREDENTIAL_EXPIRED && closesAfter > 0;
    push({
      case: 'goAway',
      value: create(GoAwaySchema, {
        reason,
        closesAfter: duration(closesAfter),
        // Its old stream is the only one on which it can still settle what it holds.
        ...(wait && { reconnectAfter: duration(closesAfter) }),
      }),
    });
    const word = GoAwayReasonSchema.value[reason]?.localName.toLowerCase();
    const end = (): void => close(`the engine sent it away: ${word}`);
    if (closesAfter === 0) end();
    else after(closesAfter, end);
  };

  const sendAway = (reason: GoAwayReason): void => goAway(reason, 0);

  const push = (kind: EngineFrame['kind']): void => outbox.push(kind);

  const accept = async (hello: Hello): Promise<void> => {
    state = 'connecting';
    hold('hello');
    link.streamNumber = hello.streamNumber;
    const outcome = await connect(registry, caller, hello, link);
    // The transport may have gone while the definitions were stored.
    if (state !== 'connecting') {
      if (outcome.ok && isOurs(outcome.value.instance)) registry.suspend(outcome.value.instance);
      return;
    }
    if (!outcome.ok) {
      refuse(outcome.refusal);
      return;
    }
    state = 'connected';
    instance = outcome.value.instance;
    const { workerName, offers } = instance;
    observer.report('info', 'worker_connected', {
      worker: workerName,
      tools: offers.size,
      peer: transport.peer,
    });
    push({ case: 'welcome', value: outcome.value.welcome });
    handler = createFrameHandler({
      registry,
      instance,
      link,
      caller,
      fail,
      close: refuse,
      onAnswer: holdBack,
      onDeclaring: (storing) => (storing ? hold('tools') : letGo('tools')),
    });
    after(STREAM_AGE_MS * (0.9 + 0.2 * registry.options.random.draw()), () =>
      goAway(GoAwayReason.MAX_AGE, SHUTDOWN_GRACE_MS),
    );
    const frames = early;
    early = [];
    frames.forEach(handle);
    letGo('hello');
  };

  /** The credential has ended: nothing more is dispatched, and what the worker holds may be settled within the grace (9.2). */
  const expire = (): void => {
    if (state === 'closed') return;
    if (instance === undefined) {
      refuse(CREDENTIAL_ENDED);
      return;
    }
    observer.report('info', 'credential_ended', { worker: instance.workerName, subject: caller.subject });
    goAway(GoAwayReason.CREDENTIAL_EXPIRED, isSettled(instance) ? 0 : resumeGraceMs);
    closeWhenSettled(instance);
  };
  const stopWaiting = lifetime?.whenOver(expire);

  const closeWhenSettled = (worker: Instance): void => {
    if (state === 'closed') return;
    if (isSettled(worker)) close('its credential has ended');
    else after(SETTLED_RECHECK_MS, () => closeWhenSettled(worker));
  };

  /** A worker whose answers the journal cannot keep up with is not read for a while. */
  const holdBack = (): void => {
    if (instance === undefined || instance.answering.size < MAX_UNREAD_ANSWERS || holds.has('answers'))
      return;
    hold('answers');
    const look = (): void => {
      if (instance !== undefined && instance.answering.size > MAX_UNREAD_ANSWERS / 2) {
        after(UNREAD_RECHECK_MS, look);
        return;
      }
      letGo('answers');
    };
    after(UNREAD_RECHECK_MS, look);
  };

  const handle = (frame: WorkerFrame): void => {
    if (state === 'closed') return;
    if (state === 'connecting') early.push(frame);
    else if (handler !== undefined) handler(frame);
    else if (frame.kind.case === 'hello') {
      accept(frame.kind.value).catch((error: unknown) => {
        observer.report('error', 'definitions_not_stored', { worker: transport.peer, error: String(error) });
        refuse(
          refused('journal_unavailable', 'the engine could not store the definitions; try again later')
            .refusal,
        );
      });
    } else fail(`the first frame of a stream must be hello, not ${frame.kind.case ?? 'an unknown kind'}`);
  };

  const listenForSilence = (): void => {
    const left = lastHeard + SILENCE_TIMEOUT_MS - clock.now();
    if (left > 0) after(left, listenForSilence);
    else {
      observer.report('warn', 'worker_silent', { worker: instance?.workerName ?? transport.peer });
      refuse(
        refused('hello_timeout', `nothing was heard for ${SILENCE_TIMEOUT_MS / 1_000} s; reconnect`).refusal,
      );
    }
  };

  transport.onMessage((message: ConnectRequest) => {
    lastHeard = clock.now();
    message.frames.forEach(handle);
  });
  transport.onDrain(() => {
    outbox.drained();
    cancelSlow?.();
    cancelSlow = undefined;
    behind = 0;
    letGo('reader');
    if (instance !== undefined) registry.listener.available(instance.tenant);
  });
  // A worker that was killed ends its stream as well, by the hand of its system.
  transport.onEnd(() => close(instance?.draining ? 'it has drained' : 'it ended its stream without a drain'));
  transport.onGone(leave);
  after(HELLO_TIMEOUT_MS, () => {
    if (state !== 'hello') return;
    refuse(refused('hello_timeout', `no hello came within ${HELLO_TIMEOUT_MS / 1_000} s`).refusal);
  });
  after(SILENCE_TIMEOUT_MS, listenForSilence);

  return { goAway, close: refuse };
}

/** Whether a worker holds nothing that could still be answered, and has been told what became of what it answered. */
function isSettled({ leases, answering }: Instance): boolean {
  return leases.size === 0 && answering.size === 0;
}

const CREDENTIAL_ENDED = refused('credential_expired', 'the credential expired or was revoked').refusal;
