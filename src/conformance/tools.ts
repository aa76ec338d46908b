/** The standard tools: what docs/conformance.md asks of every worker, as far as the suite has to know it. */
export interface StandardTool {
  readonly inputSchema: object;
  readonly outputSchema?: object;
}

const object = (properties: object, required: readonly string[], more: object = {}): object => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
  ...more,
});
const integer = { type: 'integer' };
const string = { type: 'string' };

export const STANDARD_TOOLS: Readonly<Record<string, StandardTool>> = {
  echo: { inputSchema: { type: 'object' } },
  add: {
    inputSchema: object({ a: integer, b: integer }, ['a', 'b'], { additionalProperties: false }),
    outputSchema: { type: 'integer' },
  },
  fail: {
    inputSchema: object({ code: string, message: string, retryable: { type: 'boolean' } }, ['message']),
  },
  flaky: { inputSchema: object({ failures: integer }, ['failures']) },
  slow: { inputSchema: object({ ms: integer }, ['ms']) },
  progress: { inputSchema: object({ steps: integer }, ['steps']) },
  defer: { inputSchema: object({ timeout_ms: integer }, []) },
  image: { inputSchema: { type: 'object' } },
  big: { inputSchema: object({ bytes: integer }, ['bytes']) },
  crash: { inputSchema: object({ how: { enum: ['throw', 'exit'] } }, ['how']) },
  context: { inputSchema: { type: 'object' } },
};

/** The picture that `image` answers: one grey pixel, as PNG in base64. */
export const PIXEL_PNG_BASE64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==';

/** The code with which `crash` ends its process. */
export const CRASH_EXIT_CODE = 70;

/** Dispatches that every worker under test takes at once. */
export const MIN_IN_FLIGHT = 8;

/**
 * JSON texts that have to come back from `echo` as they went in: what readers that build numbers, sort keys or
 * normalise text would change.
 */
export const VALUES: readonly string[] = [
  '{}',
  '{"id":2512292042121000001}',
  '{"n":9007199254740993,"m":-9223372036854775808,"u":18446744073709551615}',
  '{"a":1.0,"b":1e3,"c":1E+3,"d":-0,"e":-0.0,"f":0.1,"g":1.10}',
  '{"tiny":5e-324,"huge":1.7976931348623157e308,"long":3.14159265358979323846264338327950288}',
  '{ "b": 1,\n\t"a": 2 }',
  '{"z":1,"a":2,"10":3,"9":4}',
  '{"escaped":"\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\","pair":"\\ud83d\\ude00"}',
  '{"unicode":"äöü ß 漢字 العربية 😀 e\u0301 é","nul":"\\u0000","line":"\u2028\u2029"}',
  '{"":{"":""}}',
  '{"__proto__":{"x":1},"constructor":2}',
  '{"null":null,"true":true,"false":false,"list":[[],[[]],{}]}',
  `{"deep":${'['.repeat(60)}${']'.repeat(60)}}`,
  `{"long":"${'ab😀'.repeat(20_000)}"}`,
];
