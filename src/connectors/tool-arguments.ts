/** `JSON.rawJSON` is newer than the library that TypeScript knows. */
declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

/**
 * Arguments for the library that sends them, which writes values and no texts: numbers that would change on the way,
 * such as integers above 2^53, keep the digits that the caller wrote (1.1).
 */
export function argumentsOf(json: string): Record<string, unknown> {
  return JSON.parse(json, (_key, value, context?: { readonly source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && String(value) !== source
      ? JSON.rawJSON(source)
      : value;
  });
}
