import { describe, expect, it } from 'vitest';
import { activityName, originOfCall } from '../../src/core/activity.ts';
import { spanIdOf, traceIdsOf } from '../../src/telemetry/span-ids.ts';

const PLACE = { tenant: 'default', sessionId: 'call:a' };

describe('ids that are derived', () => {
  it('8.2: are the same for the same log', () => {
    const ids = () => traceIdsOf(originOfCall(PLACE, 1_800_000_000_000.25, {}));
    expect(ids()).toEqual(ids());
    expect(spanIdOf(ids(), activityName.attempt('a', 1))).toBe(spanIdOf(ids(), activityName.attempt('a', 1)));
  });

  it('8.2: differ for an older call of the same id, and for another tenant', () => {
    const ids = [
      traceIdsOf(originOfCall(PLACE, 1, {})),
      traceIdsOf(originOfCall(PLACE, 2, {})),
      traceIdsOf(originOfCall({ ...PLACE, tenant: 'other' }, 1, {})),
    ];
    expect(new Set(ids.map(({ traceId }) => traceId)).size).toBe(3);
  });

  it('8.1: are well formed, and differ among two hundred thousand spans of one trace', () => {
    const seen = new Set<string>();
    const traceContext = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    for (let call = 0; call < 1_000; call++) {
      const ids = traceIdsOf(originOfCall({ ...PLACE, sessionId: `call:${call}` }, 1, traceContext));
      for (let attempt = 1; attempt <= 200; attempt++)
        seen.add(spanIdOf(ids, activityName.attempt(`${call}`, attempt)));
    }
    expect(seen.size).toBe(200_000);
    expect([...seen].every((id) => /^[\da-f]{16}$/.test(id) && id !== '0'.repeat(16))).toBe(true);
  });
});
