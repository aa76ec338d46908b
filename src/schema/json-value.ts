import { type Budget, spend } from './budget.ts';

/** An object that came out of `JSON.parse`: keys are data, `__proto__` among them (1.6). */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of an own key; never an inherited one. */
export function ownValue<Value>(object: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The name of a value's type as JSON Schema has it; a whole number is an `integer`. */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isFinite(value) && value % 1 !== 0 ? 'number' : 'integer';
  return typeof value;
}

/**
 * A text that two values share exactly where JSON Schema calls them equal: the order of keys and the spelling
 * of numbers do not count. Comparing texts keeps `uniqueItems` linear, and trusts no method of the values.
 */
export function canonicalJson(value: unknown, budget: Budget): string {
  spend(budget, 4);
  if (typeof value === 'string') {
    spend(budget, value.length);
    return JSON.stringify(value);
  }
  // JSON.stringify writes null for what overflowed to infinity, and 0 for negative zero, which equals it.
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : String(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, budget)).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${canonicalJson(key, budget)}:${canonicalJson(value[key], budget)}`);
  return `{${members.join()}}`;
}

/** Adds one step to a JSON Pointer (RFC 6901). */
export function childPointer(pointer: string, step: string | number): string {
  return `${pointer}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
