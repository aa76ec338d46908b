import { Mismatch } from './rule.ts';

/** Waits for something, or fails with what was expected. */
export async function within<T>(
  millis: number,
  expected: string,
  awaited: Promise<T>,
  came: () => string,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Mismatch(`${expected} within ${millis} ms`, came())),
    millis,
  );
  try {
    return await Promise.race([awaited, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets time pass in which something must not happen. */
export function pass(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
