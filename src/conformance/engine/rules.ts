import type { EngineRule } from './rule.ts';
import { ANSWER_RULES } from './rules/answers.ts';
import { CALL_RULES } from './rules/calls.ts';
import { DRAIN_RULES } from './rules/drain.ts';
import { HELLO_RULES } from './rules/hello.ts';
import { RESUME_RULES } from './rules/resume.ts';

/** Every rule that concerns engines, in the order in which they are checked. */
export const ENGINE_RULES: readonly EngineRule[] = [
  ...HELLO_RULES,
  ...CALL_RULES,
  ...ANSWER_RULES,
  ...RESUME_RULES,
  ...DRAIN_RULES,
];
