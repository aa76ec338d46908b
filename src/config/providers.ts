import { z } from 'zod';
import type { Millis } from '../core/time.ts';

/** The protocols that model providers speak, as `kind` names them. */
const KINDS = ['anthropic', 'openai', 'openai-chat', 'openai-compatible', 'google'] as const;

type Kind = (typeof KINDS)[number];

/** Answers from a file, and needs no API. */
const SCRIPTED = 'scripted';

const EXPECTED = {
  kind: `one of ${[...KINDS, 'scripted'].map((kind) => `"${kind}"`).join(', ')}`,
  url: 'the URL of an API, as in http://127.0.0.1:11434/v1',
  variable: 'the name of an environment variable, as in OPENROUTER_API_KEY, or "" for none',
  headers: 'a table of texts',
  flag: 'true or false',
  name: 'a name of letters, digits, "-" and "_"',
  file: 'the path of a script, with kind = "scripted"',
  alone: 'nothing but kind and file, where kind is "scripted"',
  table: 'a table',
};

/** Providers that need no configuration, and the usual variables of their keys. */
const BUILT_IN: Readonly<Record<string, { readonly kind: Kind; readonly apiKeyEnv: string }>> = {
  anthropic: { kind: 'anthropic', apiKeyEnv: 'ANTHROPIC_API_KEY' },
  openai: { kind: 'openai', apiKeyEnv: 'OPENAI_API_KEY' },
  google: { kind: 'google', apiKeyEnv: 'GOOGLE_GENERATIVE_AI_API_KEY' },
};

/** One provider, resolved. The key is read by a function: whoever prints the configuration does not print it. */
export interface ConfiguredProvider {
  readonly kind: Kind;
  readonly baseUrl: string | undefined;
  readonly apiKeyEnv: string | undefined;
  readonly readApiKey: () => string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly streaming: boolean;
  readonly timeoutMs: Millis | undefined;
}

/** `[providers.NAME]` of the file. `duration` reads a length of time. */
export function providersSchema(duration: z.ZodType<Millis, string>) {
  const provider = z.strictObject(
    {
      kind: z.enum([...KINDS, SCRIPTED], EXPECTED.kind).optional(),
      file: z.string(EXPECTED.file).min(1, EXPECTED.file).optional(),
      base_url: z.string(EXPECTED.url).refine(isHttpUrl, EXPECTED.url).optional(),
      api_key_env: z.string(EXPECTED.variable).regex(/^\w*$/, EXPECTED.variable).optional(),
      headers: z.record(z.string(), z.string(EXPECTED.headers), EXPECTED.headers).optional(),
      streaming: z.boolean(EXPECTED.flag).optional(),
      timeout: duration.optional(),
    },
    { error: () => EXPECTED.table },
  );
  return z
    .record(z.string().regex(/^[A-Za-z0-9][\w-]*$/), provider, {
      error: ({ code }) => (code === 'invalid_key' ? EXPECTED.name : EXPECTED.table),
    })
    .superRefine((providers, context) => {
      for (const [name, table] of Object.entries(providers)) {
        const { kind, base_url, file } = table;
        const known = kind ?? BUILT_IN[name]?.kind;
        const issue = (key: string, message: string): void =>
          context.addIssue({ code: 'custom', path: [name, key], message });
        if (known === undefined) issue('kind', EXPECTED.kind);
        if ((known === SCRIPTED) !== (file !== undefined)) issue('file', EXPECTED.file);
        for (const key of Object.keys(table)) {
          if (known === SCRIPTED && key !== 'kind' && key !== 'file') issue(key, EXPECTED.alone);
        }
        if (known === 'openai-compatible' && base_url === undefined) issue('base_url', EXPECTED.url);
      }
    });
}

function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '');
}

type ProviderTables = z.output<ReturnType<typeof providersSchema>>;

/** Every provider: those of the file, and the built-in ones as far as the file does not change them. */
export function resolveProviders(
  tables: ProviderTables,
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, ConfiguredProvider>> {
  const names = new Set([...Object.keys(BUILT_IN), ...Object.keys(tables)]);
  const resolved: Record<string, ConfiguredProvider> = {};
  for (const name of names) {
    const { kind, ...table } = tables[name] ?? {};
    if (kind === SCRIPTED) continue;
    resolved[name] = resolveProvider({ ...table, kind }, BUILT_IN[name], environment);
  }
  return resolved;
}

/** The scripts of the file, by the names of their providers. */
export function scriptFiles(tables: ProviderTables): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(tables).flatMap(([name, { file }]) => (file === undefined ? [] : [[name, file]])),
  );
}

function resolveProvider(
  table: Omit<ProviderTables[string], 'kind'> & { readonly kind: Kind | undefined },
  builtIn: (typeof BUILT_IN)[string] | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): ConfiguredProvider {
  const kind = table.kind ?? builtIn?.kind ?? 'openai-compatible';
  // The usual variable holds the key for the usual place: another place gets it only where the file says so.
  const usual = table.base_url === undefined && kind === builtIn?.kind ? builtIn.apiKeyEnv : undefined;
  const apiKeyEnv = table.api_key_env ?? usual;
  const variable = apiKeyEnv === '' ? undefined : apiKeyEnv;
  return {
    kind,
    baseUrl: table.base_url,
    apiKeyEnv: variable,
    readApiKey: () => (variable === undefined ? undefined : environment[variable] || undefined),
    headers: table.headers ?? {},
    streaming: table.streaming ?? true,
    timeoutMs: table.timeout,
  };
}
