import { MAX_RETRY_AFTER_MS } from '../core/limits.ts';
import type { Millis } from '../core/time.ts';

/**
 * How long a provider wants to be left alone: `retry-after-ms`, `retry-after` in seconds or as a date (RFC 9110,
 * 10.2.3), or google.rpc.RetryInfo in the body. At most MAX_RETRY_AFTER_MS; undefined where it says nothing.
 */
export function retryAfterOf(headers: Readonly<Record<string, string>>, body: unknown): Millis | undefined {
  const wait =
    numberOf(headers['retry-after-ms']) ??
    seconds(numberOf(headers['retry-after'])) ??
    untilDate(headers['retry-after'], headers['date']) ??
    seconds(retryInfo(body));
  return wait === undefined || wait < 0 ? undefined : Math.min(wait, MAX_RETRY_AFTER_MS);
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

function seconds(value: number | undefined): Millis | undefined {
  return value === undefined ? undefined : Math.ceil(value * 1_000);
}

/** By the provider's own clock, which its `date` tells. */
function untilDate(date: string | undefined, now: string | undefined): Millis | undefined {
  const wait = Date.parse(date ?? '') - Date.parse(now ?? '');
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** `{"error":{"details":[{"@type":"…RetryInfo","retryDelay":"12s"}]}}` */
function retryInfo(body: unknown): number | undefined {
  const details = member(member(body, 'error'), 'details');
  if (!Array.isArray(details)) return undefined;
  const delay = details
    .map((detail) => member(detail, 'retryDelay'))
    .find((value) => typeof value === 'string');
  return typeof delay === 'string' ? numberOf(delay.replace(/s$/, '')) : undefined;
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;
}
