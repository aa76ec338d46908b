import type { ContextLevel } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Instant } from '../core/time.ts';
import type { TransientMap } from '../core/transient-map.ts';
import type { Definition } from '../schema/definition.ts';
import type { BoundAgent } from './agents.ts';
import type { Outbox } from './outbox.ts';

/**
 * A worker process, known across its streams. Its free slots follow from its leases and are counted nowhere
 * else, so that no slot leaks (5.4).
 */
export interface Instance {
  readonly tenant: string;
  /** Who opened its newest stream; undefined until one has, where an earlier process of the engine knew it. */
  subject: string | undefined;
  /** Names the process: what its hello says, and behind a tilde what no other process has (5.5). */
  readonly instanceId: string;
  workerName: string;
  /** Dispatches at once. */
  maxInFlight: number;
  /** The largest message that it reads, in bytes. */
  maxMessageBytes: number;
  draining: boolean;
  /** Orders declarations: the definition in force is that of the newest (5.11). */
  declaration: number;
  readonly offers: Map<string, Offer>;
  /** The agents for which it decides, by their ids. */
  readonly agents: Map<string, BoundAgent>;
  /** What it holds, by lease token: reserved, written, or stuck after the engine ended the dispatch. */
  readonly leases: TransientMap<string, HeldDispatch>;
  /** Answers that the engine has not acknowledged yet. */
  readonly answering: Set<string>;
  /** Sessions whose dispatch it rejected, which are not offered to it for a while. */
  readonly pauses: Map<string, Pause>;
  /** Its newest stream; absent while it is away. */
  link: Link | undefined;
  /** The number of its newest stream. */
  streamNumber: number;
  /** Disarms the alarm that ends its resume grace. */
  cancelGrace: (() => void) | undefined;
}

/**
 * The name of a process. Two that call themselves alike, a restarted one and its predecessor say, are told apart
 * by what the engine made up for each: else the one could say what the other never held.
 */
export function processName(declaredId: string, process: string): string {
  return `${declaredId}~${process}`;
}

/** What the process calls itself. */
export function declaredIdOf({ instanceId }: Instance): string {
  return instanceId.slice(0, instanceId.lastIndexOf('~'));
}

/** A stream to which frames can be written. */
export interface Link {
  /** From its hello; 0 before that. */
  streamNumber: number;
  readonly outbox: Outbox;
  /** The first heartbeat came: dispatches may follow (5.1). */
  ready: boolean;
  /** It was asked to go: nothing is dispatched on it any more. */
  leaving: boolean;
  /** The sequence of the last dispatch on this stream. */
  sequence: number;
  /** Ends the stream because a newer one of the same process took its place. */
  replace(): void;
}

export interface Offer {
  readonly definition: Definition;
  /** Attempts of this tool at once; 0: bounded by the worker alone. */
  readonly maxConcurrency: number;
}

/** A session that is not offered to a worker, until an alarm ends that. */
export interface Pause {
  readonly until: Instant;
  readonly disarm: () => void;
}

export interface HeldDispatch {
  readonly leaseToken: string;
  /**
   * The offered tool that it runs; undefined for what an agent's decider was given. Empty where an earlier process
   * of the engine dispatched it: then it may be any tool's.
   */
  readonly toolName: string | undefined;
  /** How much of the session goes with it; absent for what no agent's decider was given. */
  readonly context?: ContextLevel;
  /** The stream it is bound to: written there or never (4.3). */
  readonly streamNumber: number;
  /** Its place on that stream; 0 until it is written. */
  sequence: number;
  /** The engine ended it, and waits only for the worker to let go (4.4). */
  stuck: boolean;
}

/** Whether a worker may be given one more dispatch of a session now: tools and decisions share its slots (5.4). */
export function hasRoom(instance: Instance, sessionId: string, now: Instant): boolean {
  const { link, draining, leases, maxInFlight } = instance;
  if (link === undefined || !link.ready || link.outbox.blocked || draining || leases.size >= maxInFlight)
    return false;
  const pause = instance.pauses.get(sessionId);
  return pause === undefined || pause.until <= now;
}

/** Whether a worker may be given one more dispatch of a tool that it offers. */
export function canTake(instance: Instance, toolName: string, sessionId: string, now: Instant): boolean {
  const offer = instance.offers.get(toolName);
  if (offer === undefined || !hasRoom(instance, sessionId, now)) return false;
  return offer.maxConcurrency === 0 || running(instance, toolName) < offer.maxConcurrency;
}

function running(instance: Instance, toolName: string): number {
  let count = 0;
  for (const held of instance.leases.values()) {
    if (held.toolName === toolName || held.toolName === '') count++;
  }
  return count;
}

/** How busy a worker is, from 0 to 1 and above. */
export function load({ leases, maxInFlight }: Instance): number {
  return leases.size / Math.max(maxInFlight, 1);
}
