import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';

/** Milliseconds since 1970 by the engine's clock. It never goes back within a process (7.2). */
export type Instant = number;
/** A length of time in milliseconds. */
export type Millis = number;

export function timestamp(instant: Instant): Timestamp {
  const seconds = Math.floor(instant / 1_000);
  const nanos = nanosOf(instant - seconds * 1_000);
  return { $typeName: 'google.protobuf.Timestamp', seconds: BigInt(seconds), nanos };
}

export function instantOf(time: Timestamp): Instant {
  return Number(time.seconds) * 1_000 + time.nanos / 1_000_000;
}

export function duration(millis: Millis): Duration {
  const seconds = Math.trunc(millis / 1_000);
  const nanos = nanosOf(millis - seconds * 1_000);
  return { $typeName: 'google.protobuf.Duration', seconds: BigInt(seconds), nanos };
}

export function millisOf(length: Duration): Millis {
  return Number(length.seconds) * 1_000 + length.nanos / 1_000_000;
}

/** Fewer than 1,000 milliseconds as nanoseconds. Rounding never makes a whole second, which the field forbids. */
function nanosOf(rest: Millis): number {
  const nanos = Math.round(rest * 1_000_000);
  return Math.max(-MAX_NANOS, Math.min(nanos, MAX_NANOS));
}

const MAX_NANOS = 999_999_999;
