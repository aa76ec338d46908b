import { InvalidArgumentError } from 'commander';
import { LARGEST, parseDuration } from '../config.ts';

/** A length of time on a command line, in milliseconds. */
export function durationOption(text: string): number {
  const millis = parseDuration(text);
  if (millis !== undefined && millis > 0 && millis <= LARGEST.durationMs) return millis;
  throw new InvalidArgumentError('Write a number and its unit, at most 366 days: 500ms, 30s, 5m.');
}

/** A count on a command line. */
export function countOption(text: string): number {
  return countUpTo(text, Number.MAX_SAFE_INTEGER, 'Write a whole number above 0.');
}

/** The number of an event that has been seen; 0 for none. */
export function sequenceOption(text: string): number {
  return text === '0' ? 0 : countUpTo(text, MAX_SEQUENCE, 'Write the number of an event, or 0.');
}

/** The contract counts events in 32 bits. */
const MAX_SEQUENCE = 2 ** 32 - 1;

/** A number of attempts, or of one of them. */
export function attemptsOption(text: string): number {
  return countUpTo(text, LARGEST.attempts, `Write a whole number from 1 to ${LARGEST.attempts}.`);
}

function countUpTo(text: string, most: number, wanted: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0 && count <= most) return count;
  throw new InvalidArgumentError(wanted);
}

/** An id on a command line. An empty one is a variable that is not set, and would be another id each time. */
export function idOption(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('Write an id: this one is empty.');
}
