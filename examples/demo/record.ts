import { resolve } from 'node:path';

/** What the demo shows, in order. `--break` takes one of these names. */
export const STEPS = [
  'good',
  'mismatch',
  'repair',
  'retry',
  'deadline',
  'output',
  'picture',
  'parallel',
] as const;

export type Step = (typeof STEPS)[number];

export function isStep(text: string | undefined): text is Step {
  return STEPS.some((step) => step === text);
}

/** The project's own files: what the tools work on. */
export const ROOT = resolve(import.meta.dirname, '../..');

/** Which calls were made, and nothing of what came of them: the verifier asks the engine for that. */
export interface CallsMade {
  readonly address: string;
  /** Where handlers leave what they want to be seen afterwards. */
  readonly workspace: string;
  readonly calls: Readonly<Partial<Record<Step, readonly string[]>>>;
}

/** What the verifier found, one line of JSON a step. */
export interface Finding {
  readonly step: Step;
  readonly ok: boolean;
  readonly detail: string;
}
