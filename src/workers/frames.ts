import { create } from '@bufbuild/protobuf';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import {
  DrainReplySchema,
  type Heartbeat,
  HeartbeatReplySchema,
  type ModelDelta,
  ModelDeltaSchema,
  type Reject,
  type SetTools,
  ToolsReplySchema,
  type WorkerFrame,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import { shortened } from '../core/excerpt.ts';
import {
  DRAIN_RECHECK_MS,
  MAX_DELTA_CHARS,
  MAX_DELTAS_PER_FRAME,
  MAX_LABEL_CHARS,
  MAX_PAUSED_SESSIONS,
  REJECT_PAUSE_MS,
} from '../core/limits.ts';
import { type Refusal, refused } from '../core/refusal.ts';
import { sessionOfLease } from '../core/session.ts';
import { type Millis, millisOf } from '../core/time.ts';
import { offer } from './connect.ts';
import { capacityFault, readOffers, toolsFault } from './hello.ts';
import type { Instance, Link } from './instance.ts';
import type { Registry } from './registry.ts';
import { withhold } from './worker-rights.ts';

/** Takes the frames of a connected worker, one at a time. */
export type FrameHandler = (frame: WorkerFrame) => void;

export interface FrameHandlerOptions {
  readonly registry: Registry;
  readonly instance: Instance;
  readonly link: Link;
  /** Whose credential says what the worker may offer. */
  readonly caller: Caller;
  /** Ends the stream: the worker broke the protocol (5.12). */
  readonly fail: (message: string) => void;
  /** Ends the stream for another reason. */
  readonly close: (refusal: Refusal) => void;
  /** After an answer went to the engine. */
  readonly onAnswer: () => void;
  /** Whether what the worker declared is still being stored. */
  readonly onDeclaring: (storing: boolean) => void;
}

export function createFrameHandler({
  registry,
  instance,
  link,
  caller,
  fail,
  close,
  onAnswer,
  onDeclaring,
}: FrameHandlerOptions): FrameHandler {
  const { clock, observer, schemas } = registry.options;
  const { listener } = registry;
  const { tenant } = instance;
  let unknownFrames = 0;

  const heartbeat = ({ sequence, receivedThrough, held }: Heartbeat): void => {
    if (receivedThrough > link.sequence) {
      fail(`heartbeat.received_through is ${receivedThrough}, but the last dispatch was ${link.sequence}`);
      return;
    }
    const named = new Set(held);
    for (const lease of [...instance.leases.values()]) {
      if (named.has(lease.leaseToken)) continue;
      const read = lease.streamNumber === link.streamNumber && lease.sequence > 0;
      // Read by the worker, and neither held nor answered (5.6); or let go, after the engine had ended it (4.4).
      const over = read ? lease.sequence <= receivedThrough : lease.stuck;
      if (!over) continue;
      registry.free(instance, lease.leaseToken);
      listener.lost(instance, lease.leaseToken, 'lost');
    }
    const abandon = held.filter((token) => !instance.leases.has(token) && !instance.answering.has(token));
    link.outbox.push({ case: 'heartbeatReply', value: create(HeartbeatReplySchema, { sequence, abandon }) });
    link.ready = !link.leaving && !instance.draining;
    listener.available(tenant);
  };

  const reject = (frame: Reject): void => {
    const sessionId = sessionOfLease(frame.leaseToken) ?? '';
    const pause = frame.retryAfter === undefined ? REJECT_PAUSE_MS : millisOf(frame.retryAfter);
    if (instance.leases.has(frame.leaseToken) && pause > 0) pauseSession(instance, sessionId, pause);
    registry.free(instance, frame.leaseToken);
    listener.rejected(instance, frame);
    listener.available(tenant);
  };

  const pauseSession = (worker: Instance, sessionId: string, pause: Millis): void => {
    const end = (paused: string): void => {
      worker.pauses.get(paused)?.disarm();
      worker.pauses.delete(paused);
    };
    end(sessionId);
    const [oldest] = worker.pauses.keys();
    if (worker.pauses.size >= MAX_PAUSED_SESSIONS && oldest !== undefined) end(oldest);
    const until = clock.now() + pause;
    const disarm = clock.alarm(until, () => {
      worker.pauses.delete(sessionId);
      listener.available(tenant);
    });
    worker.pauses.set(sessionId, { until, disarm });
  };

  /** Declarations one after the other: the last one stays in force, however long storing each of them takes. */
  let declared: Promise<void> = Promise.resolve();
  let declaring = 0;
  const declare = (frame: SetTools): void => {
    // A worker that declares faster than it can be stored is not read: what waits would have no bound (5.10).
    if (++declaring === 1) onDeclaring(true);
    declared = declared
      .then(() => setTools(frame))
      .catch(unstorable)
      .then(() => {
        if (--declaring === 0) onDeclaring(false);
      });
  };

  const setTools = async (frame: SetTools): Promise<void> => {
    if (instance.link !== link) return;
    const withheld = withhold(caller, frame);
    const read = readOffers(frame.tools, schemas);
    const offers = { ...read, refused: [...read.refused, ...withheld.tools] };
    await listener.declared(tenant, offers.definitions);
    if (instance.link !== link) return;
    instance.declaration = registry.nextDeclaration();
    offer(registry, instance, offers);
    const refusedTools = offers.refused.map(({ name, reason }) => ({ name, reason }));
    link.outbox.push({ case: 'toolsReply', value: create(ToolsReplySchema, { refusedTools }) });
    listener.available(tenant);
  };

  return ({ kind }) => {
    switch (kind.case) {
      case 'hello':
        fail('hello is the first frame of a stream, and only that');
        return;
      case 'answer': {
        const { leaseToken } = kind.value;
        registry.free(instance, leaseToken);
        instance.answering.add(leaseToken);
        listener.answered(instance, kind.value);
        listener.available(tenant);
        onAnswer();
        return;
      }
      case 'reject':
        reject(kind.value);
        return;
      case 'progress':
        if (instance.leases.has(kind.value.leaseToken)) {
          listener.progressed(instance, kind.value);
        }
        return;
      case 'heartbeat':
        heartbeat(kind.value);
        return;
      case 'capacity': {
        const fault = capacityFault('capacity.max_in_flight', kind.value.maxInFlight);
        if (fault !== undefined) fail(fault);
        else {
          instance.maxInFlight = kind.value.maxInFlight;
          listener.available(tenant);
        }
        return;
      }
      case 'drain':
        // Reservations that are being recorded still go out: they are written before the reply, or come back.
        // One that says so again and again does not fill the log.
        if (!instance.draining) {
          const reason = shortened(kind.value.reason, MAX_LABEL_CHARS);
          observer.report('info', 'worker_drains', { worker: instance.workerName, reason });
        }
        instance.draining = true;
        confirmDrain();
        // A decision that waited for it alone waits for nobody now.
        listener.available(tenant);
        return;
      case 'setTools': {
        const fault = toolsFault('set_tools.tools', kind.value.tools);
        if (fault !== undefined) fail(fault);
        else declare(kind.value);
        return;
      }
      case 'modelDelta': {
        // Lossy, so one for a dispatch that has ended or that another process holds is dropped without a word.
        const held = instance.leases.get(kind.value.leaseToken);
        if (held !== undefined && held.sequence > 0 && !held.stuck) {
          listener.modelDelta(instance, bounded(kind.value));
        }
        return;
      }
      case undefined:
        // Newer workers may say more; that is no reason to lose them (5.12).
        if (++unknownFrames === 1) observer.report('info', 'unknown_frame', { worker: instance.workerName });
        return;
    }
  };

  /** It is not the worker's fault, so its stream ends with a status after which it comes back. */
  function unstorable(error: unknown): void {
    observer.report('error', 'definitions_not_stored', { worker: instance.workerName, error: String(error) });
    close(refused('journal_unavailable', 'the engine could not store the definitions; reconnect').refusal);
  }

  /** Confirms once every slot that was reserved before the drain has been written or given back (5.9). */
  function confirmDrain(): void {
    if (instance.link !== link) return;
    const reserved = [...instance.leases.values()].some(({ sequence }) => sequence === 0);
    if (reserved) clock.alarm(clock.now() + DRAIN_RECHECK_MS, confirmDrain);
    else link.outbox.push({ case: 'drainReply', value: create(DrainReplySchema) });
  }
}

/** The first deltas of a frame, as far as the bounds reach: one frame must not flood those who watch. */
function bounded(frame: ModelDelta): ModelDelta {
  let chars = 0;
  const end = frame.deltas.findIndex(({ kind }, index) => {
    const { value } = kind;
    chars += typeof value === 'string' ? value.length : (value?.arguments.length ?? 0);
    return index >= MAX_DELTAS_PER_FRAME || chars > MAX_DELTA_CHARS;
  });
  return end < 0 ? frame : create(ModelDeltaSchema, { ...frame, deltas: frame.deltas.slice(0, end) });
}
