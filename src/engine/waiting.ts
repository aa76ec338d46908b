import { MAX_OFFERS_PER_TOOL } from '../core/limits.ts';

/** A call that waits for a worker. */
export interface Waiter {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
}

/**
 * Calls that wait for a worker. A worker serves one tenant, so its slots go round within that tenant and no
 * tenant can starve another; within a tenant the oldest waits shortest (5.11).
 */
export interface WaitingCalls<T extends Waiter> {
  add(tenant: string, waiter: T): void;
  remove(tenant: string, waiter: Waiter): void;
  /**
   * Offers waiting calls, the oldest first, until no worker takes one more. `place` says whether a worker took
   * the call, or the call needs none any more.
   */
  offer(tenant: string, place: (waiter: T) => boolean): void;
  /** Every waiting call whose tool is not among the known ones. */
  withUnknownTool(isKnown: (tenant: string, toolName: string) => boolean): T[];
}

interface Entry<T> {
  readonly waiter: T;
  /** Its place among the waiting calls of every tool. */
  readonly order: number;
}

export function createWaitingCalls<T extends Waiter>(): WaitingCalls<T> {
  /** By tenant, then by tool; each inner map is in order of waiting. */
  const tenants = new Map<string, Map<string, Map<string, Entry<T>>>>();
  let added = 0;

  const remove = (tenant: string, waiter: Waiter): void => {
    const tools = tenants.get(tenant);
    const queue = tools?.get(waiter.toolName);
    queue?.delete(keyOf(waiter));
    if (queue?.size === 0) tools?.delete(waiter.toolName);
    if (tools?.size === 0) tenants.delete(tenant);
  };

  return {
    add(tenant, waiter) {
      const tools = tenants.get(tenant) ?? new Map<string, Map<string, Entry<T>>>();
      tenants.set(tenant, tools);
      const queue = tools.get(waiter.toolName) ?? new Map<string, Entry<T>>();
      tools.set(waiter.toolName, queue);
      queue.set(keyOf(waiter), { waiter, order: ++added });
    },
    remove,
    offer(tenant, place) {
      const tools = tenants.get(tenant);
      // Asked each time that a slot becomes free, and mostly nobody waits.
      if (tools === undefined) return;
      let heads = [...tools.values()].flatMap((queue) => headOf(queue.values(), 0));
      while (heads.length > 0) {
        const oldest = heads.reduce((one, other) => (other.entry.order < one.entry.order ? other : one));
        const { waiter } = oldest.entry;
        const taken = place(waiter);
        if (taken) remove(tenant, waiter);
        const refusals = taken ? oldest.refusals : oldest.refusals + 1;
        const next = refusals < MAX_OFFERS_PER_TOOL ? headOf(oldest.behind, refusals) : [];
        heads = heads.flatMap((head) => (head === oldest ? next : head));
      }
    },
    withUnknownTool(isKnown) {
      const unknown: T[] = [];
      for (const [tenant, tools] of tenants) {
        for (const [toolName, queue] of tools) {
          if (isKnown(tenant, toolName)) continue;
          for (const { waiter } of queue.values()) unknown.push(waiter);
        }
      }
      return unknown;
    },
  };
}

/** The oldest call of one tool that has not been offered in this round. */
interface Head<T> {
  readonly entry: Entry<T>;
  readonly behind: Iterator<Entry<T>>;
  readonly refusals: number;
}

function headOf<T>(behind: Iterator<Entry<T>>, refusals: number): Head<T>[] {
  const next = behind.next();
  return next.done === true ? [] : [{ entry: next.value, behind, refusals }];
}

function keyOf({ sessionId, callId }: Waiter): string {
  return `${sessionId}\n${callId}`;
}
