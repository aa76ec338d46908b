import { MAX_PAGE_SIZE } from '../core/limits.ts';
import { type Instant, instantOf } from '../core/time.ts';
import type { Append, SessionKey } from '../engine/ports.ts';

/**
 * Throws where an append breaks the contract of engine/ports.ts. That is a bug of the engine, and must not
 * reach the log: a wrong number written today is a session that cannot be loaded tomorrow.
 */
export function checkAppend(append: Append): void {
  const { key, expectedSequence, events } = append;
  checkKey(key);
  if (!Number.isSafeInteger(expectedSequence) || expectedSequence < 0) {
    throw new RangeError(`expectedSequence is ${expectedSequence}; it has to be 0 or a sequence`);
  }
  if (events.length === 0) throw new RangeError(`an append to ${key.sessionId} holds no event`);
  let sequence = expectedSequence;
  for (const event of events) {
    sequence += 1;
    if (event.sequence !== sequence) {
      throw new RangeError(`event ${event.sequence} of ${key.sessionId} stands where ${sequence} belongs`);
    }
    if (event.sessionId !== key.sessionId) {
      throw new RangeError(`an event of ${event.sessionId} was appended to ${key.sessionId}`);
    }
  }
}

/** Throws for ids that UTF-8 cannot tell apart: every lone surrogate is stored as U+FFFD. */
export function checkKey({ tenant, sessionId }: SessionKey): void {
  if (!tenant.isWellFormed() || !sessionId.isWellFormed()) {
    throw new RangeError('a tenant or session id holds a lone surrogate; refuse it where it comes in');
  }
}

/** Throws where a query's limit breaks the contract of engine/ports.ts. */
export function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE_SIZE) {
    throw new RangeError(`the limit of a query is ${limit}; it has to be from 1 to ${MAX_PAGE_SIZE}`);
  }
}

/** When the session ended, where this append ended it: in whole milliseconds, and never too early. */
export function endOf({ events }: Append): Instant {
  const { occurredAt } = events.at(-1) ?? {};
  return occurredAt === undefined ? 0 : Math.ceil(instantOf(occurredAt));
}
