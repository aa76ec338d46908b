import { isJsonObject, ownValue } from '../../schema/json-value.ts';
import { choiceFor } from './coerce.ts';
import { datesIn } from './dates.ts';
import type { Violation } from './known-tool.ts';

/**
 * Corrects a value by what is said to be wrong with it. Only the form of what a person said changes: a number that is
 * too large stays so, and then there is no correction. `evidence` says what belongs at a place that was left out.
 */
export function mend(
  value: unknown,
  violations: readonly Violation[],
  evidence: (path: readonly string[]) => unknown,
): unknown {
  let mended = value;
  let changed = false;
  for (const { instancePath, message } of violations) {
    const path = stepsOf(instancePath);
    const change = changeFor(message, at(mended, path), path, evidence);
    if (change === undefined) continue;
    mended = replaced(mended, [...path, ...change.below], change.value);
    changed = true;
  }
  return changed ? mended : undefined;
}

/** The violations in the words of an error that a model reads (1.9). */
export function violationsIn(message: string): Violation[] {
  return [...message.matchAll(/(the root|(?<![\w:/])\/[^\s;]*) (must [^;]+?)(?=; |\. Correct|\.?$)/gm)].map(
    ([, place = '', what = '']) => ({ instancePath: place === 'the root' ? '' : place, message: what }),
  );
}

interface Change {
  /** Steps below the place that is wrong. */
  readonly below: readonly string[];
  /** Undefined takes it away. */
  readonly value: unknown;
}

function changeFor(
  message: string,
  value: unknown,
  path: readonly string[],
  evidence: (path: readonly string[]) => unknown,
): Change | undefined {
  const here = (changed: unknown): Change | undefined =>
    changed === undefined || changed === value ? undefined : { below: [], value: changed };
  const property = /^must (not )?have (?:the|a) property (?:named )?("(?:[^"\\]|\\.)*")/.exec(message);
  if (property !== null) {
    const key = String(JSON.parse(property[2] ?? '""'));
    if (property[1] !== undefined) return { below: [key], value: undefined };
    const found = evidence([...path, key]);
    return found === undefined ? undefined : { below: [key], value: found };
  }
  const choices = /^must be (?:one of )?("(?:[^"\\]|\\.)*"(?:, "(?:[^"\\]|\\.)*")*)/.exec(message)?.[1];
  if (choices !== undefined) {
    const listed = [...choices.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([text]): unknown => JSON.parse(text));
    const [chosen] = typeof value === 'string' ? choiceFor(listed, value) : [];
    return here(chosen ?? choiceAmong(listed, evidence(path)));
  }
  const format = /^must be in the format "([\w-]+)"/.exec(message)?.[1];
  if (format !== undefined && typeof value === 'string') return here(formatted(format, value));
  const type = /^must be (string|number|integer|boolean|array|null)\b/.exec(message)?.[1];
  return type === undefined ? undefined : here(typed(type, value));
}

function choiceAmong(listed: readonly unknown[], value: unknown): unknown {
  return listed.find((each) => each === value);
}

function formatted(format: string, value: string): string | undefined {
  const [date] = datesIn(value);
  if (date === undefined) return undefined;
  if (format === 'date') return date.iso;
  return format === 'date-time' ? `${date.iso}T00:00:00Z` : undefined;
}

function typed(type: string, value: unknown): unknown {
  switch (type) {
    case 'string':
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
    case 'array':
      return value === undefined || Array.isArray(value) ? undefined : [value];
    case 'boolean':
      return value === 'true' ? true : value === 'false' ? false : undefined;
    default: {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
      return Number.isFinite(number) && (type !== 'integer' || Number.isInteger(number)) ? number : undefined;
    }
  }
}

function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, step) => {
    if (Array.isArray(inner)) return inner[Number(step)];
    return isJsonObject(inner) ? ownValue(inner, step) : undefined;
  }, value);
}

/** A copy with another value at a place; without the place where that is undefined. */
function replaced(value: unknown, path: readonly string[], change: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return change;
  if (Array.isArray(value)) {
    return value.map((item, index) => (String(index) === step ? replaced(item, rest, change) : item));
  }
  const members = isJsonObject(value) ? Object.entries(value) : [];
  const others = members.filter(([key]) => key !== step);
  const inner = replaced(isJsonObject(value) ? ownValue(value, step) : undefined, rest, change);
  if (inner === undefined) return Object.fromEntries(others);
  const known = members.length > others.length;
  if (!known) return Object.fromEntries([...members, [step, inner]]);
  return Object.fromEntries(members.map(([key, member]) => [key, key === step ? inner : member]));
}
