import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../config.ts';

/** A length of time on a command line, in milliseconds. */
export function durationOption(text: string): number {
  const millis = parseDuration(text);
  if (millis !== undefined && millis > 0) return millis;
  throw new InvalidArgumentError('Write a number and its unit: 500ms, 30s, 5m.');
}

/** A count on a command line. */
export function countOption(text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError('Write a whole number above 0.');
}

/** The number of an entry on a command line. */
export function sequenceOption(text: string): number {
  const sequence = Number(text);
  if (Number.isSafeInteger(sequence) && sequence >= 0) return sequence;
  throw new InvalidArgumentError('Write a whole number, 0 or above.');
}
