import type { StreamEnd } from './ports.ts';

/** The names of gRPC's status codes, by their numbers. */
const STATUS_NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

export type StatusName = (typeof STATUS_NAMES)[number];

/** The name of a status; a number that gRPC does not define is UNKNOWN, as gRPC says. */
export function statusName(code: number): StatusName {
  return STATUS_NAMES[code] ?? 'UNKNOWN';
}

export function statusCode(name: StatusName): number {
  return STATUS_NAMES.indexOf(name);
}

/** Trying again cannot help: who connects is wrong, or what it says (5.3). */
export function endsReconnecting(code: number): boolean {
  const name = statusName(code);
  return (
    name === 'UNAUTHENTICATED' ||
    name === 'PERMISSION_DENIED' ||
    name === 'INVALID_ARGUMENT' ||
    name === 'UNIMPLEMENTED'
  );
}

/**
 * A request that was refused, or that did not get through. A tool's failure is no such thing: it is an
 * outcome of its call.
 */
export class SpindleError extends Error {
  override readonly name = 'SpindleError';
  /** The gRPC status: NOT_FOUND, say. */
  readonly code: StatusName;
  /** Why, for programs (4.8): call_id_conflict, say. Where the engine gave none, the code in lower case. */
  readonly reason: string;
  /** Facts for programs: the id, the field, the limit. */
  readonly metadata: Readonly<Record<string, string>>;

  constructor(message: string, end: Omit<StreamEnd, 'details'>, options?: ErrorOptions) {
    super(message, options);
    this.code = statusName(end.code);
    this.reason = end.reason ?? this.code.toLowerCase();
    this.metadata = end.metadata ?? {};
  }
}

/** What requests of a client that was closed end with. */
export function clientClosed(): SpindleError {
  return new SpindleError('the client is closed', { code: statusCode('CANCELLED'), reason: 'client_closed' });
}
