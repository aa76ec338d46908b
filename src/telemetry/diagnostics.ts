import type { DiagLogger } from '@opentelemetry/api';
import { TELEMETRY_REPORT_INTERVAL_MS } from '../core/limits.ts';
import type { Instant } from '../core/time.ts';
import type { Observer } from '../engine/ports.ts';

/**
 * What the SDK says of itself, for the log: that a collector cannot be reached, say. It may say so with every export,
 * so each of a few kinds is reported at most once in TELEMETRY_REPORT_INTERVAL_MS.
 */
export function createDiagnostics(observer: Observer, now: () => Instant): DiagLogger {
  let reportedAt = Number.NEGATIVE_INFINITY;
  let suppressed = 0;
  const report = (said: unknown): void => {
    if (now() - reportedAt < TELEMETRY_REPORT_INTERVAL_MS) {
      suppressed += 1;
      return;
    }
    reportedAt = now();
    const facts = { error: messageOf(said) };
    observer.report('warn', 'telemetry_export_failed', suppressed === 0 ? facts : { ...facts, suppressed });
    suppressed = 0;
  };
  const quiet = (): void => undefined;
  return { error: report, warn: report, info: quiet, debug: quiet, verbose: quiet };
}

/** The SDK's handler of errors gives them as JSON, with their stack. */
function messageOf(said: unknown): string {
  if (said instanceof Error) return said.message;
  if (typeof said !== 'string' || !said.startsWith('{')) return String(said);
  try {
    const { message }: { readonly message?: unknown } = JSON.parse(said);
    return typeof message === 'string' ? message : said;
  } catch {
    return said;
  }
}
