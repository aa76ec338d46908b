/**
 * The text of one member of a JSON object, with its numbers as they were written (1.1); undefined where the text is no
 * object, or has no such member.
 */
export function memberText(text: string, name: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text, keepNumber);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return JSON.stringify((value as Record<string, unknown>)[name]);
}

/** Node reads a number with its text, and writes such a text back; the compiler's library does not know it yet. */
function keepNumber(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' && context?.source !== undefined ? raw(context.source) : value;
}

const { rawJSON: raw } = JSON as unknown as { rawJSON(text: string): unknown };
