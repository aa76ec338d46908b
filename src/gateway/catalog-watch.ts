import { CATALOG_SETTLE_MS } from '../core/limits.ts';
import type { Clock, Served } from '../engine/ports.ts';

/** Notices that what a tenant is offered has changed: workers and connectors come, go, and change their minds. */
export interface CatalogWatch {
  /** Something may have changed. Called often, so it does nothing where nobody watches. */
  touch(tenant: string): void;
  /** Calls back after each change, once it has settled, until the result is called. */
  watch(tenant: string, changed: () => void): () => void;
}

interface Watched {
  readonly watchers: Set<() => void>;
  /** What was offered when the watchers last heard. */
  seen: string;
  settling: boolean;
}

export function createCatalogWatch(
  served: (tenant: string) => readonly Served[],
  { now, alarm }: Clock,
): CatalogWatch {
  const tenants = new Map<string, Watched>();

  const fingerprint = (tenant: string): string =>
    served(tenant)
      .map(({ definition: { tool, digest } }) => `${tool.name} ${digest}`)
      .sort()
      .join('\n');

  const look = (tenant: string, watched: Watched): void => {
    watched.settling = false;
    const current = fingerprint(tenant);
    if (current === watched.seen) return;
    watched.seen = current;
    for (const changed of [...watched.watchers]) changed();
  };

  return {
    touch(tenant) {
      const watched = tenants.get(tenant);
      if (watched === undefined || watched.settling) return;
      watched.settling = true;
      alarm(now() + CATALOG_SETTLE_MS, () => look(tenant, watched));
    },
    watch(tenant, changed) {
      const watched = tenants.get(tenant) ?? {
        watchers: new Set<() => void>(),
        seen: fingerprint(tenant),
        settling: false,
      };
      tenants.set(tenant, watched);
      // Two watchers may have one function: each is told, and each leaves alone.
      const entry = (): void => changed();
      watched.watchers.add(entry);
      return () => {
        watched.watchers.delete(entry);
        if (watched.watchers.size === 0) tenants.delete(tenant);
      };
    },
  };
}
