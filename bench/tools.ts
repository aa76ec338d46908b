/** The tools that the benchmark calls. */

/** Answers at once with its arguments. */
export const ECHO = 'echo';
/** Never answers. */
export const HOLD = 'hold';

export const ARGUMENTS = '{"city":"Berlin","unit":"celsius","days":3}';

/** A schema of the size that tools have; the engine checks every call against it. */
export const INPUT_SCHEMA = JSON.stringify({
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 1 },
    unit: { enum: ['celsius', 'fahrenheit'] },
    days: { type: 'integer', minimum: 1, maximum: 14 },
  },
  required: ['city'],
  additionalProperties: false,
});

/** More than any load has in flight. */
export const MAX_IN_FLIGHT = 4_096;
