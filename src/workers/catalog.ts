import { MAX_ABSENT_TOOLS } from '../core/limits.ts';
import type { Served } from '../engine/ports.ts';
import type { Definition } from '../schema/definition.ts';
import type { Instance } from './instance.ts';

/** The workers that serve one name, by definition. */
interface Listing {
  /** The definition in force, or the last that there was. */
  inForce: Definition;
  readonly instances: Instance[];
  /** Every instance serves the definition in force. */
  uniform: boolean;
}

/** Who offers which tool. A tool without workers is remembered for a while, so that calls queue for it. */
export interface Catalog {
  find(tenant: string, toolName: string): Definition | undefined;
  /** What is in force of workers that are connected or within their grace. */
  offered(tenant: string): readonly Definition[];
  served(tenant: string): Served[];
  /** Whether a definition is in force, or offered by an instance. */
  knows(tenant: string, digest: string): boolean;
  /** Workers that serve the definition in force; where none does, workers that serve another (5.11). */
  serving(tenant: string, toolName: string): readonly Instance[];
  /** After an instance came, left, or changed its offers. `before` are the names that it offered until now. */
  update(instance: Instance, before: Iterable<string>): void;
}

export function createCatalog(): Catalog {
  const tenants = new Map<string, Map<string, Listing>>();
  /** Names without workers, the longest absent first. */
  const absent = new Map<string, { tenant: string; toolName: string }>();

  const namesOf = (tenant: string): Map<string, Listing> => {
    const known = tenants.get(tenant);
    if (known !== undefined) return known;
    const names = new Map<string, Listing>();
    tenants.set(tenant, names);
    return names;
  };

  const forget = (tenant: string, toolName: string): void => {
    const key = `${tenant}\n${toolName}`;
    absent.delete(key);
    absent.set(key, { tenant, toolName });
    for (const [oldest, name] of absent) {
      if (absent.size <= MAX_ABSENT_TOOLS) return;
      absent.delete(oldest);
      tenants.get(name.tenant)?.delete(name.toolName);
    }
  };

  /** The newest declaration wins; among its equals, the order of connecting decides. */
  const renew = (tenant: string, toolName: string, listing: Listing): void => {
    let newest: Instance | undefined;
    for (const instance of listing.instances) {
      if (newest === undefined || instance.declaration > newest.declaration) newest = instance;
    }
    const definition = newest?.offers.get(toolName)?.definition;
    if (definition === undefined) forget(tenant, toolName);
    else {
      listing.inForce = definition;
      listing.uniform = listing.instances.every((instance) => offersExactly(instance, toolName, definition));
      absent.delete(`${tenant}\n${toolName}`);
    }
  };

  return {
    find: (tenant, toolName) => tenants.get(tenant)?.get(toolName)?.inForce,
    knows(tenant, digest) {
      for (const [toolName, { inForce, instances }] of tenants.get(tenant) ?? []) {
        if (inForce.digest === digest) return true;
        if (instances.some(({ offers }) => offers.get(toolName)?.definition.digest === digest)) return true;
      }
      return false;
    },
    served(tenant) {
      const listings = [...(tenants.get(tenant)?.entries() ?? [])];
      return listings.flatMap(([toolName, { inForce, instances }]) => {
        const connected = instances.filter((instance) => instance.link !== undefined);
        if (connected.length === 0) return [];
        const workers = connected.filter((instance) => offersExactly(instance, toolName, inForce)).length;
        return [{ definition: inForce, workers, workersWithOtherDefinition: connected.length - workers }];
      });
    },
    offered(tenant) {
      // An instance within its grace is still listed.
      return [...(tenants.get(tenant)?.values() ?? [])].flatMap(({ inForce, instances }) =>
        instances.length > 0 ? [inForce] : [],
      );
    },
    serving(tenant, toolName) {
      const listing = tenants.get(tenant)?.get(toolName);
      if (listing === undefined) return [];
      const { inForce, instances } = listing;
      // The common case, in which no list has to be made.
      if (listing.uniform) return instances;
      const connected = instances.filter((instance) => instance.link !== undefined);
      const exact = connected.filter((instance) => offersExactly(instance, toolName, inForce));
      return exact.length > 0 ? exact : connected;
    },
    update(instance, before) {
      const names = namesOf(instance.tenant);
      for (const toolName of new Set([...before, ...instance.offers.keys()])) {
        const definition = instance.offers.get(toolName)?.definition;
        const listing =
          names.get(toolName) ?? (definition && { inForce: definition, instances: [], uniform: true });
        if (listing === undefined) continue;
        names.set(toolName, listing);
        const index = listing.instances.indexOf(instance);
        if (index >= 0) listing.instances.splice(index, 1);
        if (definition !== undefined) listing.instances.push(instance);
        renew(instance.tenant, toolName, listing);
      }
    },
  };
}

function offersExactly(instance: Instance, toolName: string, { digest }: Definition): boolean {
  return instance.offers.get(toolName)?.definition.digest === digest;
}
