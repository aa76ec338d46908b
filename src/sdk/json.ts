import { MAX_RESULT_DEPTH } from '../core/limits.ts';

/** A JSON value. A member that is undefined is left out, as JSON.stringify does. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
/** A JSON object. Declare your own shapes with `type`: an `interface` has no index signature to match. */
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/**
 * The JSON text of a value, or an Error that names the path of what JSON cannot carry (3.1): NaN, an
 * infinity, a BigInt, a function, a symbol, a cycle, an undefined element, or an instance of a class.
 * JSON.stringify would change most of these in silence. Text that is not valid Unicode is replaced (5.2).
 */
export function jsonText(value: unknown, what = 'the value'): string {
  const walk: Walk = { what, above: new Set(), wellFormed: true };
  check(value, '', walk);
  return JSON.stringify(walk.wellFormed ? value : withWellFormedText(value));
}

interface Walk {
  readonly what: string;
  /** The containers on the way from the root: meeting one again is a cycle; meeting a sibling is not. */
  readonly above: Set<object>;
  wellFormed: boolean;
}

function check(value: unknown, path: string, walk: Walk): void {
  switch (typeof value) {
    case 'string':
      walk.wellFormed &&= value.isWellFormed();
      return;
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value)) throw refusal(walk, path, `${value}, which JSON has no number for`);
      return;
    case 'object':
      if (value !== null) checkContainer(value, path, walk);
      return;
    case 'bigint':
      throw refusal(walk, path, 'a BigInt: send it as a string');
    case 'undefined':
      throw refusal(walk, path, 'undefined: send null');
    default:
      throw refusal(walk, path, `a ${typeof value}, which is no JSON value`);
  }
}

function checkContainer(container: object, path: string, walk: Walk): void {
  if (walk.above.has(container)) throw refusal(walk, path, 'a cycle');
  if (walk.above.size >= MAX_RESULT_DEPTH)
    throw refusal(walk, path, `deeper than ${MAX_RESULT_DEPTH} levels`);
  walk.above.add(container);
  if (Array.isArray(container)) {
    // By index, because holes have to be found as well: JSON.stringify would write null for them.
    for (let index = 0; index < container.length; index++) check(container[index], `${path}/${index}`, walk);
  } else {
    const prototype: unknown = Object.getPrototypeOf(container);
    const plain =
      (prototype === Object.prototype || prototype === null) && messageName(container) === undefined;
    if (!plain) throw refusal(walk, path, describeInstance(container));
    for (const [key, member] of Object.entries(container)) {
      walk.wellFormed &&= key.isWellFormed();
      if (member !== undefined) check(member, `${path}/${pointerToken(key)}`, walk);
    }
  }
  walk.above.delete(container);
}

function refusal(walk: Walk, path: string, found: string): Error {
  return new Error(`${walk.what} cannot be JSON: ${path === '' ? 'it' : path} is ${found}`);
}

function describeInstance(container: object): string {
  if (container instanceof Date) return 'a Date: send its toISOString()';
  const message = messageName(container);
  if (message !== undefined) return `a message ${message}, which belongs in \`content\``;
  const name = (container.constructor as { readonly name?: unknown } | undefined)?.name;
  return `an instance of ${typeof name === 'string' && name !== '' ? name : 'a class'}: send a plain object`;
}

/** A block or a result among data is a mistake: its JSON would be the insides of a message. */
function messageName(container: object): string | undefined {
  const { $typeName } = container as { readonly $typeName?: unknown };
  return typeof $typeName === 'string' && $typeName.startsWith('spindle.') ? $typeName : undefined;
}

function pointerToken(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Only called for what `check` has passed, so it meets JSON alone. */
function withWellFormedText(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(withWellFormedText);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.toWellFormed(), withWellFormedText(member)]),
  );
}
