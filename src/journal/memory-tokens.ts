import type { TokenRecord, TokenStore } from '../engine/ports.ts';

/** Tokens that end with the process. */
export function createMemoryTokens(): TokenStore {
  const records = new Map<string, TokenRecord>();
  return {
    load: async () => [...records.values()].sort((left, right) => left.createdAt - right.createdAt),
    async put(record) {
      records.set(record.id, record);
    },
    async remove(id) {
      records.delete(id);
    },
  };
}
