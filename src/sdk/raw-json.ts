// Registered, so that two copies of this package in one process know each other's values.
const RAW = Symbol.for('spindle.rawJson');

/** A JSON value as text that is sent as it is. */
export interface RawJson {
  readonly [RAW]: true;
  readonly json: string;
}

/**
 * A JSON value for a handler to return as text: it goes out byte for byte, so that integers above 2^53, `1.0` and
 * the order of keys survive. Throws an Error where the text is no JSON.
 *
 *     return rawJson('{"id":2512292042121000001}');
 */
export function rawJson(json: string): RawJson {
  try {
    JSON.parse(json);
  } catch (cause) {
    throw new Error('rawJson() takes one whole JSON value as text', { cause });
  }
  return { [RAW]: true, json: json.toWellFormed() };
}

export function isRawJson(value: unknown): value is RawJson {
  return typeof value === 'object' && value !== null && RAW in value;
}
