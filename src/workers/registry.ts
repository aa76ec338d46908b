import type { CancelReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import { CANCEL_GRACE_MS, RESUME_GRACE_MS } from '../core/limits.ts';
import { leaseTokenOf } from '../core/session.ts';
import { duration, type Millis } from '../core/time.ts';
import { TransientMap } from '../core/transient-map.ts';
import type {
  Clock,
  DeciderReservation,
  ExpectedLease,
  Observer,
  Random,
  Reservation,
  Workers,
  WorkersListener,
} from '../engine/ports.ts';
import type { Schemas } from '../schema/schemas.ts';
import { type BindingIndex, createBindingIndex } from './bindings.ts';
import { type Catalog, createCatalog } from './catalog.ts';
import { canTake, type HeldDispatch, hasRoom, type Instance, type Link } from './instance.ts';
import type { ResumeTokens } from './resume-token.ts';
import { select } from './selection.ts';

export interface RegistryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
  readonly schemas: Schemas;
  readonly resumeTokens: ResumeTokens;
  /** How long the leases of a worker that is away are kept (5.3). RESUME_GRACE_MS if not given. */
  readonly resumeGraceMs?: Millis | undefined;
  /** Runs a function at the end of this tick. */
  readonly soon: (run: () => void) => void;
}

/** An instance that is away and holds nothing, to make room for one that is here; undefined where there is none. */
export function idleAway(instances: ReadonlyMap<string, Instance>): Instance | undefined {
  for (const instance of instances.values()) {
    if (instance.link === undefined && instance.leases.size === 0) return instance;
  }
  return undefined;
}

/** The connected workers. The streams in stream.ts change it; the engine uses it as its port Workers. */
export interface Registry extends Workers {
  readonly options: RegistryOptions;
  readonly catalog: Catalog;
  readonly bindings: BindingIndex;
  readonly listener: WorkersListener;
  /** Every worker process that is connected, or may come back. */
  readonly instances: Map<string, Instance>;
  /** A dispatch takes a slot of its worker. */
  hold(instance: Instance, held: HeldDispatch): void;
  /** A dispatch is over at its worker: the slot is free. */
  free(instance: Instance, leaseToken: string): HeldDispatch | undefined;
  /** Its stream broke, or a process that was expected has not come yet: it may come back within the grace. */
  suspend(instance: Instance): void;
  /** It will not come back: what it held is lost (4.6). */
  remove(instance: Instance): void;
  nextDeclaration(): number;
}

export function instanceKey(tenant: string, instanceId: string): string {
  return `${tenant}\n${instanceId}`;
}

export function createRegistry(options: RegistryOptions): Registry {
  const { clock, random, observer, resumeGraceMs = RESUME_GRACE_MS } = options;
  const catalog = createCatalog();
  const bindings = createBindingIndex();
  const instances = new Map<string, Instance>();
  /** Whose slot a lease takes. */
  const holders = new TransientMap<string, Instance>();
  let listener: WorkersListener | undefined;
  let declarations = 0;

  const registry: Registry = {
    options,
    catalog,
    bindings,
    instances,
    get listener() {
      if (listener === undefined)
        throw new Error('workers may connect only after the engine listens to them');
      return listener;
    },
    listen(engine) {
      listener = engine;
    },
    nextDeclaration: () => ++declarations,
    find: (tenant, toolName) => catalog.find(tenant, toolName),
    knows: (tenant, digest) => catalog.knows(tenant, digest),
    served: (tenant) => catalog.served(tenant),
    offered: (tenant) => catalog.offered(tenant),

    reserve(tenant, toolName, sessionId, last): Reservation | undefined {
      const serving = catalog.serving(tenant, toolName);
      const now = clock.now();
      const takes = (candidate: Instance) => canTake(candidate, toolName, sessionId, now);
      const instance = select(serving, { takes, last }, random);
      const definition = instance?.offers.get(toolName)?.definition;
      if (instance?.link === undefined || definition === undefined) return undefined;
      return { ...take(instance, instance.link, { toolName }, sessionId), definition };
    },

    isBound: (tenant, instanceId, agentId) =>
      instances.get(instanceKey(tenant, instanceId))?.agents.has(agentId) === true,
    binding: (tenant, agentId) => bindings.binding(tenant, agentId),

    reserveDecider(tenant, agentId, trigger, sessionId, last): DeciderReservation | undefined {
      const wanting = bindings.wanting(tenant, agentId, trigger);
      const now = clock.now();
      const takes = (candidate: Instance) => hasRoom(candidate, sessionId, now);
      const instance = select(wanting, { takes, last }, random);
      const agent = instance?.agents.get(agentId);
      if (instance?.link === undefined || agent === undefined) return undefined;
      const { context } = agent;
      return { ...take(instance, instance.link, { toolName: undefined, context }, sessionId), context };
    },

    contextOf: (leaseToken) => holders.get(leaseToken)?.leases.get(leaseToken)?.context,

    release(leaseToken) {
      const instance = holders.get(leaseToken);
      if (instance !== undefined && registry.free(instance, leaseToken))
        registry.listener.available(instance.tenant);
    },

    hold(instance, held) {
      // A lease has one holder: a process that names another's takes nothing from it.
      if (holders.has(held.leaseToken)) return;
      instance.leases.set(held.leaseToken, held);
      holders.set(held.leaseToken, instance);
    },

    free(instance, leaseToken) {
      const held = instance.leases.get(leaseToken);
      if (held === undefined) return undefined;
      instance.leases.delete(leaseToken);
      holders.delete(leaseToken);
      return held;
    },

    dispatch(leaseToken, dispatch) {
      const instance = holders.get(leaseToken);
      const held = instance?.leases.get(leaseToken);
      // A lease of an earlier process of the engine has been written already, or its stream is gone.
      if (held === undefined || held.sequence > 0 || held.stuck) return;
      const { link } = instance ?? {};
      if (instance === undefined || link === undefined || link.streamNumber !== held.streamNumber) return;
      held.sequence = ++link.sequence;
      dispatch.leaseToken = leaseToken;
      dispatch.sequence = held.sequence;
      link.outbox.push({ case: 'dispatch', value: dispatch });
    },

    stop(leaseToken, reason) {
      const instance = holders.get(leaseToken);
      const held = instance?.leases.get(leaseToken);
      if (instance === undefined || held === undefined || held.stuck) return;
      if (held.sequence === 0 && instance.link?.streamNumber === held.streamNumber) {
        registry.release(leaseToken);
        return;
      }
      held.stuck = true;
      sendCancel(instance, leaseToken, reason);
    },

    acknowledge(tenant, instanceId, leaseToken, verdict, reason) {
      const instance = instances.get(instanceKey(tenant, instanceId));
      if (instance === undefined) return;
      instance.answering.delete(leaseToken);
      instance.link?.outbox.push({
        case: 'acknowledge',
        value: { $typeName: 'spindle.v1.Acknowledge', leaseToken, verdict, reason },
      });
    },

    expect(leases) {
      for (const lease of leases) adopt(lease);
      for (const instance of instances.values()) if (instance.link === undefined) registry.suspend(instance);
    },

    suspend(instance) {
      instance.link = undefined;
      instance.cancelGrace?.();
      for (const held of [...instance.leases.values()]) {
        if (held.sequence === 0) {
          registry.free(instance, held.leaseToken);
          registry.listener.lost(instance, held.leaseToken, 'never_sent');
        } else registry.listener.away(instance, held.leaseToken, true);
      }
      const leases = instance.leases.size;
      if (leases === 0 && instance.draining) {
        registry.remove(instance);
        return;
      }
      // Also one that holds nothing: a short break must not make its older declaration the newest (5.11).
      instance.cancelGrace = clock.alarm(clock.now() + resumeGraceMs, () => {
        if (leases > 0) observer.report('warn', 'worker_lost', { worker: instance.workerName, leases });
        registry.remove(instance);
      });
      // Workers with another definition serve now, where the one in force has nobody left (5.11).
      registry.listener.available(instance.tenant);
    },

    remove(instance) {
      instance.link = undefined;
      instance.cancelGrace?.();
      instance.cancelGrace = undefined;
      for (const { disarm } of instance.pauses.values()) disarm();
      instance.pauses.clear();
      const key = instanceKey(instance.tenant, instance.instanceId);
      if (instances.get(key) === instance) instances.delete(key);
      const names = [...instance.offers.keys()];
      instance.offers.clear();
      catalog.update(instance, names);
      const agentIds = [...instance.agents.keys()];
      instance.agents.clear();
      bindings.update(instance, agentIds);
      for (const { leaseToken } of [...instance.leases.values()]) {
        registry.free(instance, leaseToken);
        registry.listener.lost(instance, leaseToken, 'lost');
      }
      registry.listener.available(instance.tenant);
    },
  };

  /** A slot under a new lease, bound to the worker's newest stream (4.3). */
  function take(
    instance: Instance,
    link: Link,
    work: Pick<HeldDispatch, 'toolName' | 'context'>,
    sessionId: string,
  ) {
    const leaseToken = leaseTokenOf(random.token(), sessionId);
    const { streamNumber } = link;
    registry.hold(instance, { ...work, leaseToken, streamNumber, sequence: 0, stuck: false });
    const { instanceId, workerName, maxMessageBytes } = instance;
    return { leaseToken, instanceId, streamNumber, workerName, maxMessageBytes };
  }

  function sendCancel(instance: Instance, leaseToken: string, reason: CancelReason): void {
    instance.link?.outbox.push({
      case: 'cancel',
      value: { $typeName: 'spindle.v1.Cancel', leaseToken, reason, grace: duration(CANCEL_GRACE_MS) },
    });
  }

  function adopt(lease: ExpectedLease): void {
    const key = instanceKey(lease.tenant, lease.instanceId);
    const instance = instances.get(key) ?? newInstance(lease.tenant, lease.instanceId, lease.workerName);
    instances.set(key, instance);
    instance.streamNumber = Math.max(instance.streamNumber, lease.streamNumber);
    const { leaseToken, toolName, streamNumber } = lease;
    registry.hold(instance, { leaseToken, toolName, streamNumber, sequence: 1, stuck: false });
  }

  return registry;
}

export function newInstance(
  tenant: string,
  instanceId: string,
  workerName: string,
  subject?: string,
): Instance {
  return {
    tenant,
    subject,
    instanceId,
    workerName,
    maxInFlight: 0,
    maxMessageBytes: 0,
    draining: false,
    declaration: 0,
    offers: new Map(),
    agents: new Map(),
    leases: new TransientMap(),
    answering: new Set(),
    pauses: new Map(),
    link: undefined,
    streamNumber: 0,
    cancelGrace: undefined,
  };
}
