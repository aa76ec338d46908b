import { describe, expect, it } from 'vitest';
import type { TokenRecord, TokenStore } from '../../src/engine/ports.ts';

export function recordOf(id: string, more: Partial<TokenRecord> = {}): TokenRecord {
  return {
    id,
    hash: new Uint8Array(32).fill(7),
    role: 'client',
    tenant: 'acme',
    subject: 'ann',
    tools: ['weather_*', 'mail'],
    agents: [],
    createdAt: 1_000.25,
    ...more,
  };
}

/** What every store of tokens does. */
export function describeTokenStore(name: string, open: () => Promise<TokenStore>): void {
  describe(`${name}: the contract of a store of tokens`, () => {
    it('9.2: loads what was put, whole and oldest first', async () => {
      const store = await open();
      const later = recordOf('b', { createdAt: 2_000, expiresAt: 3_000.5, agents: ['*'] });
      await store.put(later);
      await store.put(recordOf('a'));
      expect(await store.load()).toEqual([recordOf('a'), later]);
    });

    it('replaces a record by one of the same id, and removes one', async () => {
      const store = await open();
      await store.put(recordOf('a'));
      await store.put(recordOf('b'));
      await store.put(recordOf('a', { revokedAt: 5_000 }));
      await store.remove('b');
      await store.remove('unknown');
      expect(await store.load()).toEqual([recordOf('a', { revokedAt: 5_000 })]);
    });
  });
}
