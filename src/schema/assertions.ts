/**
 * Assertions that ajv decides in ways that a foreign value can turn against it: comparing objects calls their
 * own `valueOf`, `uniqueItems` is quadratic, `multipleOf` knows no tolerance, lengths are counted however
 * long the string, and the empty name is never missed. These decide instead, and spend the budget. The diagnosis uses the same.
 */
import { type Budget, spend } from './budget.ts';
import { canonicalJson } from './json-value.ts';

export function equals(expected: unknown, value: unknown, budget: Budget): boolean {
  if (typeof expected !== 'object' || expected === null) return expected === value;
  return (
    typeof value === 'object' &&
    value !== null &&
    canonicalJson(expected, budget) === canonicalJson(value, budget)
  );
}

/** A test for membership, made once for each schema. */
export function oneOfValues(values: readonly unknown[], budget: Budget): (value: unknown) => boolean {
  const scalars = new Set(values.filter((value) => typeof value !== 'object' || value === null));
  const free: Budget = { left: Number.POSITIVE_INFINITY };
  const containers = new Set(
    values
      .filter((value) => typeof value === 'object' && value !== null)
      .map((value) => canonicalJson(value, free)),
  );
  return (value) => {
    if (scalars.has(value)) return true;
    if (containers.size === 0 || typeof value !== 'object' || value === null) return false;
    return containers.has(canonicalJson(value, budget));
  };
}

export function hasUniqueItems(items: readonly unknown[], budget: Budget): boolean {
  const seen = new Set<string>();
  for (const item of items) seen.add(canonicalJson(item, budget));
  return seen.size === items.length;
}

/** Decimal fractions have no exact binary form, so a quotient counts as whole within its own precision. */
export function isMultipleOf(divisor: number, value: number): boolean {
  if (value % divisor === 0) return true;
  const quotient = value / divisor;
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * 2 ** -51;
}

/** Lengths are in code points; most strings are judged without counting them. */
export function isAtMostLong(limit: number, text: string, budget: Budget): boolean {
  return text.length <= limit || (text.length <= 2 * limit && codePoints(text, budget) <= limit);
}

export function isAtLeastLong(limit: number, text: string, budget: Budget): boolean {
  return text.length >= 2 * limit || (text.length >= limit && codePoints(text, budget) >= limit);
}

function codePoints(text: string, budget: Budget): number {
  spend(budget, text.length);
  let count = 0;
  for (let offset = 0; offset < text.length; offset += 1) {
    const code = text.charCodeAt(offset);
    if (code < 0xdc00 || code > 0xdfff) count += 1;
  }
  return count;
}

export function hasKeys(object: object, names: readonly string[]): boolean {
  for (const name of names) if (!Object.hasOwn(object, name)) return false;
  return true;
}

/** Listing the keys of a large object takes some hundred nanoseconds for each. */
const KEY_STEPS = 10;

/** How many keys an object has. `walks` more keywords are about to go through them. */
export function keyCount(object: object, budget: Budget, walks = 0): number {
  const count = Object.keys(object).length;
  spend(budget, KEY_STEPS * count * (walks + 1));
  return count;
}
