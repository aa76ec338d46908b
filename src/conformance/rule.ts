import type { Bench } from './bench.ts';

/** One thing that a worker has to do, and the section of protocol.md that says so. */
export interface Rule {
  readonly section: string;
  readonly title: string;
  /** Throws a Mismatch where the worker does otherwise. */
  readonly check: (bench: Bench) => Promise<void>;
}

/** The worker did not do what a rule expects of it. */
export class Mismatch extends Error {
  readonly expected: string;
  readonly came: string;

  constructor(expected: string, came: string) {
    super(`expected ${expected}; came ${came}`);
    this.name = 'Mismatch';
    this.expected = expected;
    this.came = came;
  }
}

/** Compares by JSON, which is what the report shows. */
export function expectEqual(what: string, came: unknown, expected: unknown): void {
  const [left, right] = [show(came), show(expected)];
  if (left !== right) throw new Mismatch(`${what} ${right}`, left);
}

export function expectThat(holds: boolean, expected: string, came: string): void {
  if (!holds) throw new Mismatch(expected, came);
}

const MAX_SHOWN_CHARS = 300;

/** A value for the report: short, on one line, bigints and bytes included. */
export function show(value: unknown): string {
  const text =
    JSON.stringify(value, (_, part: unknown) => {
      if (typeof part === 'bigint') return part.toString();
      return part instanceof Uint8Array ? `${part.byteLength} bytes` : part;
    }) ?? 'nothing';
  return text.length <= MAX_SHOWN_CHARS
    ? text
    : `${text.slice(0, MAX_SHOWN_CHARS)}… (${text.length} characters)`;
}
