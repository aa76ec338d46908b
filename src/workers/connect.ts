import { create } from '@bufbuild/protobuf';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import { type Hello, type Welcome, WelcomeSchema } from '../../gen/spindle/v1/worker_service_pb.ts';
import {
  DEFAULT_MAX_IN_FLIGHT,
  HEARTBEAT_INTERVAL_MS,
  MAX_MESSAGE_BYTES,
  MAX_WORKERS,
  RESUME_GRACE_MS,
  SILENCE_TIMEOUT_MS,
} from '../core/limits.ts';
import { accepted, type Outcome, refused } from '../core/refusal.ts';
import { ANONYMOUS } from '../core/rights.ts';
import { duration } from '../core/time.ts';
import { type Bindings, readBindings } from './agents.ts';
import { helloFault, type Offers, readOffers } from './hello.ts';
import { declaredIdOf, type Instance, type Link, processName } from './instance.ts';
import { idleAway, instanceKey, newInstance, type Registry } from './registry.ts';
import { withhold } from './worker-rights.ts';

export interface Connected {
  readonly instance: Instance;
  readonly welcome: Welcome;
}

/**
 * Takes a hello: makes the definitions durable, finds out whether this is a known process on a new stream or a
 * new process (5.5), and judges what an older stream had been given.
 */
export async function connect(
  registry: Registry,
  caller: Caller,
  hello: Hello,
  link: Link,
): Promise<Outcome<Connected>> {
  const { options, instances } = registry;
  const { tenant, subject } = caller;
  const fault = helloFault(hello);
  if (fault !== undefined) return refused('protocol_error', fault);
  const withheld = withhold(caller, hello);
  if (withheld.agents.length > 0) return refused('not_permitted', agentsFault(withheld.agents));
  const proven = options.resumeTokens.processOf(tenant, hello.instanceId, hello.resumeToken);
  const process = proven ?? options.random.token();
  const instanceId = processName(hello.instanceId, process);
  const key = instanceKey(tenant, instanceId);
  if (!instances.has(key) && instances.size >= MAX_WORKERS) {
    const idle = idleAway(instances);
    if (idle !== undefined) registry.remove(idle);
  }
  if (!instances.has(key) && instances.size >= MAX_WORKERS) {
    return refused('overloaded', `the engine has ${MAX_WORKERS} workers, which is its limit`);
  }
  const read = readOffers(hello.tools, options.schemas);
  const offers = { ...read, refused: [...read.refused, ...withheld.tools] };
  const bindings = readBindings(hello.agents, options.schemas);
  await registry.listener.declared(tenant, offers.definitions);

  const earlier = instances.get(key);
  if (earlier !== undefined && hello.streamNumber <= earlier.streamNumber) {
    const message = `hello.stream_number must be above ${earlier.streamNumber}, the number of the process's last stream`;
    return refused('protocol_error', message);
  }
  if (proven === undefined) supersede(registry, caller, hello.instanceId);
  const instance = earlier ?? newInstance(tenant, instanceId, hello.workerName, subject);
  if (earlier !== undefined) resume(registry, instance, hello);
  else instance.declaration = registry.nextDeclaration();
  instance.subject = subject;
  instances.set(key, instance);
  occupy(registry, instance, hello);
  enlist(registry, instance, hello, offers, link);
  bind(registry, instance, bindings);
  const resumeToken = options.resumeTokens.issue(tenant, hello.instanceId, process);
  return accepted({
    instance,
    welcome: welcome(registry, instance, hello, [...offers.refused, ...bindings.refused], resumeToken),
  });
}

/** The engine has no frame to refuse a binding by name, so the stream is refused. */
function agentsFault(agents: readonly string[]): string {
  return `the credential of this worker does not name the agent ${agents.join(', ')}; leave it out, or ask for another`;
}

/**
 * A new process came under the name of older ones: what those held is lost (4.6). Only of the same subject's, so
 * that no worker ends what another credential's workers do.
 */
function supersede(registry: Registry, { tenant, subject }: Caller, declaredId: string): void {
  for (const earlier of [...registry.instances.values()]) {
    if (earlier.tenant !== tenant || declaredIdOf(earlier) !== declaredId) continue;
    // Whose one was that an earlier process of the engine knew, nobody remembers: where callers differ, its grace ends it.
    if (earlier.subject !== subject && (earlier.subject !== undefined || subject !== ANONYMOUS.subject))
      continue;
    const { link } = earlier;
    registry.remove(earlier);
    link?.replace();
  }
}

/**
 * The same process on a newer stream. What the older streams had been given and the hello does not name was
 * never started (5.6).
 */
function resume(registry: Registry, instance: Instance, hello: Hello): void {
  instance.cancelGrace?.();
  instance.cancelGrace = undefined;
  const { link } = instance;
  instance.link = undefined;
  link?.replace();
  const held = new Set(hello.held.map(({ leaseToken }) => leaseToken));
  for (const lease of [...instance.leases.values()]) {
    if (held.has(lease.leaseToken)) {
      registry.listener.away(instance, lease.leaseToken, false);
      continue;
    }
    registry.free(instance, lease.leaseToken);
    registry.listener.lost(instance, lease.leaseToken, lease.sequence === 0 ? 'never_sent' : 'never_held');
  }
}

/**
 * What the process still runs and nobody waits for any more takes its slot until the process lets go (4.4): an
 * engine that has restarted knows of it from here alone. Answered dispatches hold none (5.4).
 */
function occupy(registry: Registry, instance: Instance, { held, streamNumber }: Hello): void {
  for (const { leaseToken, answered } of held) {
    if (answered || instance.leases.has(leaseToken) || instance.answering.has(leaseToken)) continue;
    registry.hold(instance, {
      leaseToken,
      toolName: '',
      streamNumber: streamNumber - 1,
      sequence: 1,
      stuck: true,
    });
  }
}

function enlist(registry: Registry, instance: Instance, hello: Hello, offers: Offers, link: Link): void {
  instance.workerName = hello.workerName === '' ? hello.instanceId : hello.workerName;
  instance.maxInFlight = hello.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT;
  // The engine's own port writes no larger ones.
  instance.maxMessageBytes = Math.min(hello.maxMessageBytes || MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES);
  instance.draining = hello.draining;
  instance.streamNumber = hello.streamNumber;
  instance.link = link;
  offer(registry, instance, offers);
}

/** Puts what a worker offers into force. */
export function offer(registry: Registry, instance: Instance, { offers, refused, remarks }: Offers): void {
  const before = [...instance.offers.keys()];
  instance.offers.clear();
  for (const [name, entry] of offers) instance.offers.set(name, entry);
  registry.catalog.update(instance, before);
  const { observer } = registry.options;
  const worker = instance.workerName;
  for (const { name, reason } of refused)
    observer.report('warn', 'tool_refused', { worker, tool: name, reason });
  for (const { name, remark } of remarks)
    observer.report('info', 'tool_remark', { worker, tool: name, remark });
}

/** Puts what a worker binds into force, in place of what it had bound on an older stream. */
function bind(registry: Registry, instance: Instance, { bound, refused }: Bindings): void {
  const before = [...instance.agents.keys()];
  instance.agents.clear();
  for (const [agentId, agent] of bound) instance.agents.set(agentId, agent);
  registry.bindings.update(instance, before);
  for (const { name, reason } of refused) {
    registry.options.observer.report('warn', 'tool_refused', {
      worker: instance.workerName,
      tool: name,
      reason,
    });
  }
}

function welcome(
  registry: Registry,
  instance: Instance,
  hello: Hello,
  refused: Offers['refused'],
  resumeToken: string,
): Welcome {
  const { random, resumeGraceMs = RESUME_GRACE_MS } = registry.options;
  return create(WelcomeSchema, {
    connectionId: random.token(),
    resumeToken,
    heartbeatInterval: duration(HEARTBEAT_INTERVAL_MS),
    silenceTimeout: duration(SILENCE_TIMEOUT_MS),
    resumeGrace: duration(resumeGraceMs),
    maxMessageBytes: MAX_MESSAGE_BYTES,
    abandon: hello.held
      .map(({ leaseToken }) => leaseToken)
      .filter((token) => instance.leases.get(token)?.stuck !== false),
    refusedTools: refused.map(({ name, reason }) => ({ name, reason })),
  });
}
