import type { Delta } from '../../../gen/spindle/v1/message_pb.ts';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import type {
  Acknowledge,
  ConnectResponse,
  Dispatch,
  EngineFrame,
  Welcome,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import { CANCEL_GRACE_MS, MAX_MESSAGE_BYTES } from '../../core/limits.ts';
import { duration, type Instant, millisOf } from '../../core/time.ts';
import type { Agent } from '../agent/agent.ts';
import type { Tool } from '../tool.ts';
import type { ProgressFields } from '../tool-context.ts';
import type { Ending } from '../work.ts';
import { admit } from './admission.ts';
import { abandoned, type Instruction, refusedTools, stopReasonOf, wentAway } from './instruction.ts';
import { createLeases } from './leases.ts';
import { createLiveness } from './liveness.ts';
import { bindingOf, offerOf } from './offer.ts';
import { createOutbox } from './outbox.ts';
import { failedDecision, refusedAnswer } from './status.ts';

/** What a worker is, from its start to its end. */
export interface WorkerIdentity {
  /** Made at random, once for each process. */
  readonly instanceId: string;
  readonly workerName: string;
  readonly buildId: string;
  readonly sdk: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * The worker's side of section 5, without a socket, a clock or a handler: frames and instants go in,
 * instructions and messages come out. One protocol lives as long as its process and sees many streams, one
 * at a time; what it holds outlives each of them (5.5).
 */
export interface WorkerProtocol {
  /** A new stream begins, with a hello. Nothing of an older one may be received any more (5.5). */
  open(now: Instant): void;
  /** The stream is gone. */
  closed(): void;
  receive(response: ConnectResponse, now: Instant): Instruction[];
  /** Time passes: a heartbeat becomes due, or a silence too long. */
  advance(now: Instant): Instruction[];
  /** When to advance at the latest. */
  wakeup(): Instant | undefined;
  /** A handler has stopped. Its answer is kept until it is acknowledged (5.7). */
  end(leaseToken: string, ending: Ending): Instruction[];
  /** Lossy: without a stream nobody is told. */
  report(leaseToken: string, fields: ProgressFields): void;
  /** Lossy as well: the response brings all of it. */
  stream(leaseToken: string, deltas: readonly Delta[]): void;
  setTools(tools: readonly Tool[]): void;
  setMaxInFlight(maxInFlight: number): void;
  drain(reason: string): void;
  /** The next message to write. */
  next(): Uint8Array | undefined;
  /** Drained: nothing is held, and nothing will come (5.9). */
  finished(): boolean;
  /** The stream is welcome, and takes frames. */
  serving(): boolean;
  /** How many handlers run or answers wait for their acknowledgement. */
  held(): number;
}

export function createWorkerProtocol(
  identity: WorkerIdentity,
  offer: {
    readonly tools: readonly Tool[];
    readonly agents: readonly Agent[];
    readonly maxInFlight: number;
  },
): WorkerProtocol {
  const leases = createLeases();
  const outbox = createOutbox();
  const liveness = createLiveness();
  let tools = byName(offer.tools);
  const agents = new Map(offer.agents.map((agent) => [agent.id, agent]));
  let { maxInFlight } = offer;
  let phase: 'closed' | 'greeting' | 'serving' = 'closed';
  let streamNumber = 0;
  let resumeToken = '';
  let receivedThrough = 0;
  let heartbeats = 0;
  let maxMessageBytes = MAX_MESSAGE_BYTES;
  let drain: 'none' | 'wanted' | 'confirmed' = 'none';
  let drainReason = '';
  /** What changed between a hello and its welcome, and has to be said once the stream takes frames. */
  const changed = { tools: false, capacity: false, drain: false };

  const offers = () => [...tools.values()].map(offerOf);

  function beat(now: Instant): void {
    heartbeats += 1;
    liveness.beat(now);
    outbox.put({
      case: 'heartbeat',
      value: { sequence: heartbeats, receivedThrough, held: leases.tokens() },
    });
  }

  function tellChanges(): void {
    if (phase !== 'serving') return;
    if (changed.tools) outbox.put({ case: 'setTools', value: { tools: offers() } });
    if (changed.capacity) outbox.put({ case: 'capacity', value: { maxInFlight } });
    if (changed.drain) outbox.put({ case: 'drain', value: { reason: drainReason } });
    Object.assign(changed, { tools: false, capacity: false, drain: false });
  }

  function welcomed(welcome: Welcome, now: Instant): Instruction[] {
    phase = 'serving';
    resumeToken = welcome.resumeToken;
    maxMessageBytes = welcome.maxMessageBytes === 0 ? MAX_MESSAGE_BYTES : welcome.maxMessageBytes;
    liveness.welcomed(welcome);
    // At once and first: nothing is dispatched before it (5.1).
    beat(now);
    for (const [leaseToken, outcome] of leases.unacknowledged()) {
      outbox.put({ case: 'answer', value: { leaseToken, outcome } });
    }
    tellChanges();
    return [
      { kind: 'status', status: { kind: 'connected', connectionId: welcome.connectionId, streamNumber } },
      ...refusedTools(welcome.refusedTools),
      ...abandoned(welcome.abandon),
    ];
  }

  function dispatched(dispatch: Dispatch): Instruction[] {
    const { leaseToken, sequence } = dispatch;
    receivedThrough = sequence;
    // A dispatch is written to one stream or never (4.3): a second copy is no second execution.
    if (leases.get(leaseToken) !== undefined) return [];
    const admission = admit(dispatch, { tools, agents }, drain !== 'none');
    if (admission.kind === 'rejected') {
      const { reason } = admission;
      outbox.put({ case: 'reject', value: { leaseToken, reason } });
      return [{ kind: 'status', status: { kind: 'rejected', reason } }];
    }
    const { work } = admission;
    leases.start(leaseToken, work.subject);
    return [{ kind: 'run', leaseToken, work, traceContext: dispatch.traceContext }];
  }

  /** Without a stream nothing is said: the next hello does not name the lease, and the engine asks again. */
  function gaveBack(leaseToken: string, ending: Extract<Ending, { kind: 'gave_back' }>): Instruction[] {
    const subject = leases.get(leaseToken)?.subject;
    if (subject === undefined || !leases.giveBack(leaseToken)) return [];
    const { reason, retryAfterMs } = ending;
    if (phase === 'serving') {
      outbox.put({ case: 'reject', value: { leaseToken, reason, retryAfter: duration(retryAfterMs) } });
    }
    return [{ kind: 'status', status: failedDecision(subject, reason) }];
  }

  function acknowledged({ leaseToken, verdict, reason }: Acknowledge): Instruction[] {
    const lease = leases.release(leaseToken);
    if (lease === undefined || verdict !== AnswerVerdict.REFUSED) return [];
    return [{ kind: 'status', status: refusedAnswer(lease.subject, reason) }];
  }

  function receiveFrame({ kind }: EngineFrame, now: Instant): Instruction[] {
    if (phase !== 'serving') return kind.case === 'welcome' ? welcomed(kind.value, now) : [];
    switch (kind.case) {
      case 'dispatch':
        return dispatched(kind.value);
      case 'cancel': {
        const { leaseToken, reason, grace } = kind.value;
        const graceMs = grace === undefined ? CANCEL_GRACE_MS : millisOf(grace);
        return [{ kind: 'abort', leaseToken, reason: stopReasonOf(reason), graceMs }];
      }
      case 'acknowledge':
        return acknowledged(kind.value);
      case 'heartbeatReply':
        return abandoned(kind.value.abandon);
      case 'drainReply':
        if (drain === 'wanted') drain = 'confirmed';
        return [];
      case 'goAway':
        return wentAway(kind.value);
      case 'toolsReply':
        return refusedTools(kind.value.refusedTools);
      case 'welcome':
      case undefined:
        // A second welcome says nothing, and a kind that this version does not know is ignored (5.12).
        return [];
    }
  }

  return {
    open(now) {
      phase = 'greeting';
      streamNumber += 1;
      receivedThrough = 0;
      liveness.opened(now);
      outbox.clear();
      Object.assign(changed, { tools: false, capacity: false, drain: false });
      // A hello that says `draining` takes the place of Drain and of its reply.
      if (drain === 'wanted') drain = 'confirmed';
      outbox.put({
        case: 'hello',
        value: {
          ...identity,
          resumeToken,
          streamNumber,
          tools: offers(),
          agents: offer.agents.map(bindingOf),
          maxInFlight,
          maxMessageBytes: MAX_MESSAGE_BYTES,
          held: leases.held(),
          draining: drain !== 'none',
        },
      });
    },
    closed() {
      phase = 'closed';
      outbox.clear();
    },
    receive(response, now) {
      liveness.heard(now);
      return response.frames.flatMap((frame) => receiveFrame(frame, now));
    },
    advance(now) {
      if (phase === 'closed') return [];
      const silence = liveness.tooSilent(now);
      if (silence !== undefined) {
        return [{ kind: 'lost', message: `nothing came from the engine for ${Math.round(silence)} ms` }];
      }
      if (liveness.beatDue(now)) beat(now);
      return [];
    },
    wakeup: () => (phase === 'closed' ? undefined : liveness.wakeup()),
    end(leaseToken, ending) {
      if (ending.kind === 'gave_back') return gaveBack(leaseToken, ending);
      const { outcome } = ending;
      if (!leases.answer(leaseToken, outcome)) return [];
      // Without a stream the answer waits in its lease, and the next welcome sends it.
      if (phase === 'serving') outbox.put({ case: 'answer', value: { leaseToken, outcome } });
      return [];
    },
    report(leaseToken, fields) {
      if (phase !== 'serving' || leases.get(leaseToken)?.state !== 'running') return;
      outbox.report(leaseToken, fields);
    },
    stream(leaseToken, deltas) {
      if (phase !== 'serving' || leases.get(leaseToken)?.state !== 'running') return;
      outbox.stream(leaseToken, deltas);
    },
    setTools(replacement) {
      tools = byName(replacement);
      changed.tools = true;
      tellChanges();
    },
    setMaxInFlight(limit) {
      maxInFlight = limit;
      changed.capacity = true;
      tellChanges();
    },
    drain(reason) {
      if (drain !== 'none') return;
      drain = 'wanted';
      drainReason = reason;
      changed.drain = true;
      tellChanges();
    },
    next: () => outbox.next(maxMessageBytes),
    finished() {
      if (drain === 'none' || leases.size > 0) return false;
      return phase !== 'serving' || (drain === 'confirmed' && outbox.size === 0);
    },
    serving: () => phase === 'serving',
    held: () => leases.size,
  };
}

/** In the order in which they are declared: a map keeps it. */
function byName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}
