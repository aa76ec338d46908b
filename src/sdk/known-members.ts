/** The members that an options object may have. The compiler makes sure that none of the type is forgotten. */
export type Members<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Refuses a member that nothing reads: a misspelt option would otherwise have no effect and say nothing, wherever
 * types are stripped and not checked. Throws an Error that names it, and the nearest ones that there are.
 *
 * Only plain objects are looked at: an instance of a class may have members for its own methods.
 */
export function refuseUnknown(given: unknown, members: Readonly<Record<string, true>>, what: string): void {
  if (typeof given !== 'object' || given === null || !isPlain(given)) return;
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(members, name));
  if (unknown === undefined) return;
  const near = Object.keys(members).find((name) => isNear(name, unknown));
  const advice =
    near === undefined ? `there are ${Object.keys(members).toSorted().join(', ')}` : `did you mean ${near}?`;
  throw new Error(`${what}: there is no option ${JSON.stringify(unknown)}: ${advice}`);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The same but for case, or for one character that is missing, surplus or another. */
function isNear(name: string, given: string): boolean {
  const a = name.toLowerCase();
  const b = given.toLowerCase();
  if (a === b) return true;
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const left = Math.max(a.length, b.length) - start - end;
  return left <= 1 || (left === 2 && a[start] === b[start + 1] && a[start + 1] === b[start]);
}
