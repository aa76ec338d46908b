import type { Instant } from '../core/time.ts';

export interface SdkClock {
  /** Milliseconds since 1970; it never goes back. */
  now(): Instant;
  /** Calls back once, at or after an instant, however far away. The result disarms it. */
  alarm(at: Instant, ring: () => void): () => void;
}

export interface SdkRandom {
  /** Uniform in [0, 1). */
  draw(): number;
  /** An id that nobody else makes. */
  token(): string;
}

/** How a stream ended: a gRPC status. */
export interface StreamEnd {
  readonly code: number;
  readonly details: string;
  /** The reason of its google.rpc.ErrorInfo, where it has one. */
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}
