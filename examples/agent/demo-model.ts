/** Models of providers whose keys are in the environment, the first that is there; else one that needs no key. */
export function demoModel(environment: Readonly<Record<string, string | undefined>>): string {
  const [, model] = MODELS.find(([key]) => (environment[key] ?? '') !== '') ?? [];
  return model ?? 'local/demo';
}

const MODELS: readonly (readonly [key: string, model: string])[] = [
  ['ANTHROPIC_API_KEY', 'anthropic/claude-haiku-4-5'],
  ['OPENAI_API_KEY', 'openai/gpt-5-mini'],
  ['GOOGLE_GENERATIVE_AI_API_KEY', 'google/gemini-2.5-flash'],
];
