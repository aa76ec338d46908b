import type { JSONObject, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { z } from 'zod';

const REASONING = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const SettingsSchema = z.strictObject({
  max_output_tokens: z.int().positive().optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().positive().optional(),
  presence_penalty: z.number().optional(),
  frequency_penalty: z.number().optional(),
  stop_sequences: z.array(z.string()).optional(),
  seed: z.int().optional(),
  reasoning: z.enum(REASONING).optional(),
  tool_choice: z
    .union([z.enum(['auto', 'required', 'none']), z.strictObject({ name: z.string().min(1) })])
    .optional(),
  provider_options: z.record(z.string(), z.json()).optional(),
});

type Settings = z.output<typeof SettingsSchema>;

/** Settings of one call, but for what names the provider's tools. */
export interface CallSettings {
  readonly options: Partial<LanguageModelV4CallOptions>;
  readonly toolChoice: Settings['tool_choice'];
  /** For the provider's library, under the provider's namespace. */
  readonly providerOptions: JSONObject;
}

export type ReadSettings =
  | { readonly ok: true; readonly settings: CallSettings }
  /** What is wrong, in a sentence for whoever configured the agent. */
  | { readonly ok: false; readonly problem: string };

/** Reads ModelRequest.settings_json: sampling and other settings (AgentConfig.model_settings_json). */
export function readCallSettings(json: string): ReadSettings {
  let value: unknown;
  try {
    value = json.trim() === '' ? {} : JSON.parse(json);
  } catch {
    return { ok: false, problem: 'model_settings_json is no JSON text' };
  }
  const parsed = SettingsSchema.safeParse(value);
  if (!parsed.success) return { ok: false, problem: `model_settings_json: ${describe(parsed.error)}` };
  const { tool_choice, provider_options, ...settings } = parsed.data;
  const options = {
    maxOutputTokens: settings.max_output_tokens,
    temperature: settings.temperature,
    topP: settings.top_p,
    topK: settings.top_k,
    presencePenalty: settings.presence_penalty,
    frequencyPenalty: settings.frequency_penalty,
    stopSequences: settings.stop_sequences,
    seed: settings.seed,
    reasoning: settings.reasoning,
  };
  const given = Object.fromEntries(Object.entries(options).filter(([, option]) => option !== undefined));
  return {
    ok: true,
    settings: {
      options: given,
      toolChoice: tool_choice,
      providerOptions: (provider_options ?? {}) as JSONObject,
    },
  };
}

function describe({ issues }: z.ZodError): string {
  return issues
    .map((issue) => {
      if (issue.code === 'unrecognized_keys') {
        return `no such setting: ${issue.keys.join(', ')} (there are ${Object.keys(SettingsSchema.shape).join(', ')})`;
      }
      return `${issue.path.map(String).join('.') || 'the whole'}: ${issue.message}`;
    })
    .join('; ');
}
