import { lastLease } from '../core/call.ts';
import { RECOVERY_READS, RESUME_GRACE_MS } from '../core/limits.ts';
import { isUnfinished } from '../core/owed.ts';
import type { Effects } from './effects.ts';
import type { Shared } from './engine.ts';
import { faultKind } from './journal-fault.ts';
import type { Children } from './loop/children.ts';
import type { ExpectedLease, SessionKey } from './ports.ts';
import type { SessionRunner } from './session-runner.ts';

/**
 * Takes up every unfinished session of the journal (7.2). One whose log is damaged stays where it is and is
 * reported; the others go on (7.4). Rejects where the journal itself cannot be read.
 */
export async function recoverSessions(
  shared: Shared,
  effects: Effects,
  children: Children,
  settleNames: () => void,
): Promise<void> {
  const { options, sessions } = shared;
  const { clock, journal, workers, observer } = options;
  const runners: SessionRunner[] = [];
  const expected: ExpectedLease[] = [];
  let damaged = 0;

  const open = async (key: SessionKey): Promise<SessionRunner | undefined> => {
    try {
      const runner = await sessions.open(key);
      if (runner !== undefined) return runner;
      observer.report('error', 'session_damaged', {
        tenant: key.tenant,
        session_id: key.sessionId,
        error:
          'The journal names this session as unfinished and does not find its log. Restore it from a backup.',
      });
    } catch (error) {
      if (faultKind(error) !== 'corrupt') throw error;
      shared.refuse(error);
    }
    damaged += 1;
    return undefined;
  };

  const take = async (opening: Promise<readonly (SessionRunner | undefined)[]>): Promise<void> => {
    for (const runner of await opening) {
      if (runner === undefined) continue;
      runners.push(runner);
      expected.push(...runningLeases(runner));
    }
  };

  // The journal reads the next ones while these are replayed.
  let ahead: Promise<readonly (SessionRunner | undefined)[]> = Promise.resolve([]);
  for await (const keys of batches(journal.unfinished(), RECOVERY_READS)) {
    const next = Promise.all(keys.map(open));
    // Looked at when its turn comes; one that fails before that is not lost.
    next.catch(() => undefined);
    await take(ahead);
    ahead = next;
  }
  await take(ahead);
  for (const { tenant, leaseToken } of expected) effects.away(tenant, leaseToken, true);
  workers.expect(expected);
  const graceUntil = clock.now() + (options.resumeGraceMs ?? RESUME_GRACE_MS);
  shared.namesSettledAt = graceUntil;
  for (const runner of runners) runner.resume(runningLeases(runner).length > 0 ? graceUntil : 0);
  await children.cancelOrphans(runners);
  clock.alarm(graceUntil, settleNames);
  if (runners.length + damaged > 0) {
    const facts = { calls: runners.length, running: expected.length };
    observer.report('info', 'recovered', damaged > 0 ? { ...facts, damaged } : facts);
  }
}

async function* batches<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function runningLeases({ key, session }: SessionRunner): ExpectedLease[] {
  if (!isUnfinished(session)) return [];
  return [...session.calls.values()].flatMap((call) => {
    const lease = lastLease(call);
    if (call.phase.kind !== 'dispatched' || lease === undefined) return [];
    const { token: leaseToken, instanceId, streamNumber, workerName } = lease;
    return [{ leaseToken, tenant: key.tenant, instanceId, streamNumber, workerName, toolName: call.name }];
  });
}
