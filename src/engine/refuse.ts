import { MAX_REPORTED_DAMAGE } from '../core/limits.ts';
import { type Refusal, refused } from '../core/refusal.ts';
import { unreachable } from '../core/unreachable.ts';
import { faultKind } from './journal-fault.ts';
import type { Observer } from './ports.ts';

export const JOURNAL_FAILED: Refusal = refused(
  'journal_unavailable',
  'the journal failed; the engine has to be started again',
).refusal;

/**
 * Says what a fault means to the one who asked, and tells the operator (7.4): a damaged session stops alone, a
 * full disk passes, and only a commit that nobody knows the end of stops the engine. Undefined for what is no
 * fault.
 */
export type Refuse = (error: unknown) => Refusal | undefined;

export function createRefuse(observer: Observer, fail: (error: unknown) => void): Refuse {
  const reported = new Set<string>();

  const reportDamage = (message: string): void => {
    if (reported.has(message)) return;
    if (reported.size >= MAX_REPORTED_DAMAGE) reported.clear();
    reported.add(message);
    observer.report('error', 'session_damaged', { error: message });
  };

  return (error) => {
    const kind = faultKind(error);
    if (kind === undefined) return undefined;
    const message = error instanceof Error ? error.message : '';
    switch (kind) {
      case 'corrupt':
        reportDamage(message);
        return refused(
          'session_damaged',
          'the record of this call is damaged, and nothing of it can be trusted; ' +
            "the engine's log says what its operator has to restore",
        ).refusal;
      case 'full':
      case 'overloaded':
        observer.report('warn', 'journal_refused', { kind, error: message });
        return refused('overloaded', `the journal takes no more at the moment (${kind}); try again later`)
          .refusal;
      case 'failed':
        fail(error);
        return JOURNAL_FAILED;
      case 'closed':
        return refused('shutting_down', 'the engine shuts down; try again in a moment').refusal;
      case 'in_use':
      case 'unavailable':
      case 'not_a_journal':
      case 'unknown_version':
        observer.report('error', 'journal_unreadable', { kind, error: message });
        return refused('journal_unavailable', 'the record cannot be read at the moment; try again later')
          .refusal;
      default:
        return unreachable(kind);
    }
  };
}
