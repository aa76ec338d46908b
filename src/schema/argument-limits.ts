import { MAX_ARGUMENTS_BYTES, MAX_JSON_DEPTH, MAX_JSON_KEYS } from '../core/limits.ts';
import type { JsonLimits } from './json-text.ts';

/** What arguments may measure, as written and as repaired (1.5). */
export const ARGUMENT_LIMITS: JsonLimits = {
  maxBytes: MAX_ARGUMENTS_BYTES,
  maxDepth: MAX_JSON_DEPTH,
  maxKeys: MAX_JSON_KEYS,
};
