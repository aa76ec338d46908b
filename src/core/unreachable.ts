/** Closes an exhaustive switch: it compiles only where every case has been handled. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
