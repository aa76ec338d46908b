import type { Binding } from '../engine/ports.ts';
import type { Instance } from './instance.ts';

/** Who has bound which agent. */
export interface BindingIndex {
  /**
   * What connected workers have bound of an agent, and those within their grace: a short break must not let a
   * proposal apply that they would have changed. Undefined where nobody has.
   */
  binding(tenant: string, agentId: string): Binding | undefined;
  /** Workers that want a trigger of an agent, connected or not. */
  wanting(tenant: string, agentId: string, trigger: string): readonly Instance[];
  /** After an instance came, left, or said anew what it binds. `before` are the agents that it bound until now. */
  update(instance: Instance, before: Iterable<string>): void;
}

export function createBindingIndex(): BindingIndex {
  const tenants = new Map<string, Map<string, Set<Instance>>>();

  const bound = (tenant: string, agentId: string): ReadonlySet<Instance> =>
    tenants.get(tenant)?.get(agentId) ?? NOBODY;

  return {
    binding(tenant, agentId) {
      const instances = bound(tenant, agentId);
      if (instances.size === 0) return undefined;
      const triggers = new Set<string>();
      let newest: Instance | undefined;
      for (const instance of instances) {
        const entry = instance.agents.get(agentId);
        // One that drains takes no decision any more; the configuration that it brought still holds.
        if (!instance.draining) for (const trigger of entry?.triggers ?? []) triggers.add(trigger);
        const isNewer = newest === undefined || instance.declaration > newest.declaration;
        if (entry?.config !== undefined && isNewer) newest = instance;
      }
      return { triggers, config: newest?.agents.get(agentId)?.config };
    },
    wanting: (tenant, agentId, trigger) =>
      [...bound(tenant, agentId)].filter(({ agents }) => agents.get(agentId)?.triggers.has(trigger)),
    update(instance, before) {
      const agents = tenants.get(instance.tenant) ?? new Map<string, Set<Instance>>();
      tenants.set(instance.tenant, agents);
      for (const agentId of new Set([...before, ...instance.agents.keys()])) {
        const instances = agents.get(agentId) ?? new Set();
        if (instance.agents.has(agentId)) instances.add(instance);
        else instances.delete(instance);
        if (instances.size > 0) agents.set(agentId, instances);
        else agents.delete(agentId);
      }
      if (agents.size === 0) tenants.delete(instance.tenant);
    },
  };
}

const NOBODY: ReadonlySet<Instance> = new Set();
