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
   * Offers waiting calls, the oldest of each tool first, until no worker takes one more. `place` says whether
   * a worker took the call.
   */
  offer(tenant: string, place: (waiter: T) => boolean): void;
  /** Every waiting call whose tool is not among the known ones. */
  withUnknownTool(isKnown: (tenant: string, toolName: string) => boolean): T[];
}

/**
 * How many calls of one tool are offered before the tool counts as busy: a call that its only free worker has
 * just rejected must not block those behind it.
 */
const MAX_OFFERS = 16;

export function createWaitingCalls<T extends Waiter>(): WaitingCalls<T> {
  /** By tenant, then by tool; each inner map is in order of waiting. */
  const tenants = new Map<string, Map<string, Map<string, T>>>();

  return {
    add(tenant, waiter) {
      const tools = tenants.get(tenant) ?? new Map<string, Map<string, T>>();
      tenants.set(tenant, tools);
      const queue = tools.get(waiter.toolName) ?? new Map<string, T>();
      tools.set(waiter.toolName, queue);
      queue.set(keyOf(waiter), waiter);
    },
    remove(tenant, waiter) {
      const tools = tenants.get(tenant);
      const queue = tools?.get(waiter.toolName);
      queue?.delete(keyOf(waiter));
      if (queue?.size === 0) tools?.delete(waiter.toolName);
      if (tools?.size === 0) tenants.delete(tenant);
    },
    offer(tenant, place) {
      const tools = tenants.get(tenant);
      if (tools === undefined) return;
      for (const [toolName, queue] of tools) {
        let refusals = 0;
        for (const [key, waiter] of queue) {
          if (place(waiter)) queue.delete(key);
          else if (++refusals >= MAX_OFFERS) break;
        }
        if (queue.size === 0) tools.delete(toolName);
      }
      if (tools.size === 0) tenants.delete(tenant);
    },
    withUnknownTool(isKnown) {
      const unknown: T[] = [];
      for (const [tenant, tools] of tenants) {
        for (const [toolName, queue] of tools) {
          if (!isKnown(tenant, toolName)) unknown.push(...queue.values());
        }
      }
      return unknown;
    },
  };
}

function keyOf({ sessionId, callId }: Waiter): string {
  return `${sessionId}\n${callId}`;
}
