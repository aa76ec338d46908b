import { describe, expect, it } from 'vitest';
import { displacedBy, type Occupant } from '../../src/gateway/displaced.ts';

type Row = readonly [id: string, tenant: string, open: number, usedAt: number];

function sessions(...rows: readonly Row[]): ReadonlyMap<string, Occupant> {
  return new Map(rows.map(([id, tenant, open, usedAt]) => [id, { caller: { tenant }, open, usedAt }]));
}

describe('where all places for MCP sessions are taken', () => {
  it.each<[string, readonly Row[], string, string | undefined]>([
    [
      'a tenant replaces its own that is idle for longest',
      [
        ['new', 'a', 0, 2],
        ['old', 'a', 0, 1],
      ],
      'a',
      'old',
    ],
    ['a tenant ends none of its own that is in use', [['used', 'a', 1, 1]], 'a', undefined],
    [
      'a tenant that has the most drives nobody else’s away',
      [
        ['own', 'a', 1, 5],
        ['own too', 'a', 1, 6],
        ['other', 'b', 0, 1],
      ],
      'a',
      undefined,
    ],
    [
      'the tenant that has the most makes room for another, with what is idle',
      [
        ['used', 'a', 1, 1],
        ['idle', 'a', 0, 2],
        ['other', 'b', 0, 1],
      ],
      'c',
      'idle',
    ],
    [
      'the tenant that has the most makes room for another, also where all are in use',
      [
        ['later', 'a', 1, 2],
        ['earlier', 'a', 1, 1],
        ['other', 'b', 0, 0],
      ],
      'b',
      'earlier',
    ],
    ['nobody is displaced where nobody is', [], 'a', undefined],
  ])('9.3: %s', (_what, rows, tenant, displaced) => {
    expect(displacedBy(tenant, sessions(...rows))).toBe(displaced);
  });
});
