/**
 * Everything that is configured: a TOML file, the environment and the flags of a command become one frozen
 * Config, in this order, the last one winning. The only reader of process.env in src/.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { ACCESS_FIELDS, ACCESS_VARIABLES, accessOf, checkAccess } from './config/access.ts';
import { agentsSchema } from './config/agents.ts';
import { ConnectorSchema, type SecretReference } from './config/connectors.ts';
import { providersSchema, resolveProviders, scriptFiles } from './config/providers.ts';
import { flag, listOf } from './config/values.ts';
import { MAX_ATTEMPTS, MAX_BACKOFF_MULTIPLIER, MAX_POLICY_DURATION_MS } from './core/limits.ts';
import { nearestNames } from './core/nearest-names.ts';
import type { Millis } from './core/time.ts';

const UNITS: Readonly<Record<string, Millis>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a length of time: a number and its unit, as in 250ms, 30s, 5m, 1.5h or 7d. Undefined for any other text. */
export function parseDuration(text: string): Millis | undefined {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  return number === undefined || factor === undefined ? undefined : Number(number) * factor;
}

/** The most that a policy may ask for, wherever it is written. */
export const LARGEST = { attempts: MAX_ATTEMPTS, durationMs: MAX_POLICY_DURATION_MS } as const;

/** Field by field what is wanted, in the words that follow `expected`. */
const EXPECTED = {
  address: 'HOST:PORT, as in 127.0.0.1:7433, localhost:0 or [::1]:7433',
  http: 'HOST:PORT, as in 127.0.0.1:7434, or "off"',
  metrics: 'HOST:PORT, as in 127.0.0.1:9464, or "off"',
  names: 'names of JSON members, as in ["password"] or password,token',
  journal: '"memory:", or "sqlite:" and the path of a file',
  level: '"info", "warn", "error" or "silent"',
  duration: 'a positive number and its unit, as in 250ms, 30s, 5m or 1h, of at most 366 days',
  attempts: `an integer from 1 to ${MAX_ATTEMPTS}`,
  factor: `a number from 1 to ${MAX_BACKOFF_MULTIPLIER}`,
  table: 'a table',
};

/** Only the form: whether it can be listened on, the engine finds out. */
const HOST_PORT = /^(?:\[[^\]]+\]|[^:[\]\s]+):\d{1,5}$/;
const HOST_PORT_OR_OFF = new RegExp(`${HOST_PORT.source}|^off$`);

const JOURNAL = /^(?:memory:|sqlite:.+)$/;

const address = z.string(EXPECTED.address).regex(HOST_PORT, EXPECTED.address);
const duration = z.string(EXPECTED.duration).transform((text, context) => {
  const millis = parseDuration(text);
  if (millis !== undefined && millis > 0 && millis <= MAX_POLICY_DURATION_MS) return millis;
  context.addIssue({ code: 'custom', message: EXPECTED.duration });
  return z.NEVER;
});

const RetrySchema = z
  .strictObject(
    {
      queue_timeout: duration.optional(),
      run_timeout: duration.optional(),
      total_timeout: duration.optional(),
      heartbeat_timeout: duration.optional(),
      max_attempts: z
        .int(EXPECTED.attempts)
        .min(1, EXPECTED.attempts)
        .max(MAX_ATTEMPTS, EXPECTED.attempts)
        .optional(),
      initial_backoff: duration.optional(),
      max_backoff: duration.optional(),
      backoff_multiplier: z
        .number(EXPECTED.factor)
        .min(1, EXPECTED.factor)
        .max(MAX_BACKOFF_MULTIPLIER, EXPECTED.factor)
        .optional(),
    },
    { error: tableError },
  )
  .transform((layer) =>
    withoutUndefined({
      queueTimeoutMs: layer.queue_timeout,
      runTimeoutMs: layer.run_timeout,
      totalTimeoutMs: layer.total_timeout,
      heartbeatTimeoutMs: layer.heartbeat_timeout,
      maxAttempts: layer.max_attempts,
      initialBackoffMs: layer.initial_backoff,
      maxBackoffMs: layer.max_backoff,
      backoffMultiplier: layer.backoff_multiplier,
    }),
  );

const ConfigSchema = z
  .strictObject(
    {
      address: address.optional(),
      listen: address.optional(),
      http: z
        .string(EXPECTED.http)
        .regex(HOST_PORT_OR_OFF, EXPECTED.http)
        .transform((text) => (text === 'off' ? (false as const) : text))
        .optional(),
      journal: z.string(EXPECTED.journal).regex(JOURNAL, EXPECTED.journal).optional(),
      insecure: flag.optional(),
      metrics: z
        .string(EXPECTED.metrics)
        .regex(HOST_PORT_OR_OFF, EXPECTED.metrics)
        .transform((text) => (text === 'off' ? undefined : text))
        .optional(),
      record_content: flag.optional(),
      redact: listOf(EXPECTED.names).optional(),
      retain: duration.optional(),
      log_level: z.enum(['info', 'warn', 'error', 'silent'], EXPECTED.level).optional(),
      shutdown_grace: duration.optional(),
      resume_grace: duration.optional(),
      ...ACCESS_FIELDS,
      retry: z
        .strictObject({ base: RetrySchema.optional(), tool: RetrySchema.optional() }, { error: tableError })
        .optional(),
      connectors: z.record(z.string(), ConnectorSchema, { error: tableError }).optional(),
      providers: providersSchema(duration).optional(),
      agents: agentsSchema.optional(),
    },
    { error: tableError },
  )
  .superRefine(checkAccess)
  .transform((settings) => ({
    /** The engine that clients and workers talk to; undefined where nothing names one. */
    address: settings.address,
    listen: settings.listen,
    http: settings.http,
    journal: settings.journal,
    /** Listening beyond this machine without credentials is meant (9.1). */
    insecure: settings.insecure ?? false,
    /** Where Prometheus finds /metrics (8.7). */
    metrics: settings.metrics,
    /** Arguments and results become attributes of spans (8.5). */
    recordContent: settings.record_content ?? false,
    /** Members that are left out of them; undefined leaves it to the telemetry. */
    redact: settings.redact,
    /** How long calls are kept after their end (4.12). */
    retainMs: settings.retain,
    logLevel: settings.log_level ?? ('info' as const),
    shutdownGraceMs: settings.shutdown_grace,
    /** How long a worker that is away keeps what it holds (5.3). */
    resumeGraceMs: settings.resume_grace,
    ...accessOf(settings),
    /** Policies of the deployment: for every effect, and for tools (4.1). */
    retry: settings.retry,
    /** MCP servers by their ids. */
    connectors: settings.connectors ?? {},
    /** What the file says of model providers, by name. */
    providerTables: settings.providers ?? {},
    /** Agents of the deployment, by their ids. */
    agents: settings.agents ?? {},
  }));

/** What was configured. Where nothing was, a setting is undefined, and the part that it belongs to has its default. */
export type Config = Omit<z.output<typeof ConfigSchema>, 'providerTables'> & {
  /** The standard variables of OpenTelemetry that are set; telemetry/settings.ts reads them (8.7). */
  readonly openTelemetry: Readonly<Record<string, string>>;
  /** Model providers by name, the built-in ones among them. */
  readonly providers: ReturnType<typeof resolveProviders>;
  /** The files of scripted models, by the names of their providers. */
  readonly scripts: Readonly<Record<string, string>>;
};

/** The settings by their names in a file; the environment and flags know those without a table. */
type Setting = Exclude<
  keyof z.input<typeof ConfigSchema>,
  'retry' | 'connectors' | 'providers' | 'agents' | 'certificates' | 'jwt' | 'limits'
>;

const VARIABLES: Readonly<Record<Setting, string>> = {
  ...ACCESS_VARIABLES,
  address: 'SPINDLE_ADDRESS',
  listen: 'SPINDLE_LISTEN',
  http: 'SPINDLE_HTTP',
  journal: 'SPINDLE_JOURNAL',
  insecure: 'SPINDLE_INSECURE',
  metrics: 'SPINDLE_METRICS',
  record_content: 'SPINDLE_RECORD_CONTENT',
  redact: 'SPINDLE_REDACT',
  retain: 'SPINDLE_RETAIN',
  log_level: 'SPINDLE_LOG_LEVEL',
  shutdown_grace: 'SPINDLE_SHUTDOWN_GRACE',
  resume_grace: 'SPINDLE_RESUME_GRACE',
};

export interface ConfigSources {
  /** The path of a TOML file. SPINDLE_CONFIG names one where this does not. */
  readonly file?: string | undefined;
  /** A token is none of them: arguments are seen by everybody on the machine (9.4). */
  readonly flags?: Readonly<Partial<Record<Exclude<Setting, 'token'>, string | boolean | undefined>>>;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export type LoadedConfig =
  /** `warnings`: a sentence for each thing that has no effect, and was meant to. */
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly string[] }
  /** One line for each thing that is wrong: where it stands, and what is expected. */
  | { readonly ok: false; readonly problems: readonly string[] };

export function loadConfig({
  file,
  flags = {},
  environment = process.env,
}: ConfigSources = {}): LoadedConfig {
  const path = file ?? (environment['SPINDLE_CONFIG'] || undefined);
  const settings = new Map<string, unknown>();
  const origins = new Map<string, (key: string) => string>();
  const set = (setting: string, value: unknown, origin: (key: string) => string): void => {
    settings.set(setting, value);
    origins.set(setting, origin);
  };

  if (path !== undefined) {
    const table = readTable(path);
    if (!table.ok) return { ok: false, problems: [table.problem] };
    for (const [key, value] of Object.entries(table.value)) set(key, value, (at) => `${path}: ${at}`);
  }
  for (const [setting, variable] of Object.entries(VARIABLES)) {
    const value = environment[variable];
    // An empty variable is how shells and compose files leave one out.
    if (value !== undefined && value !== '') set(setting, value, () => variable);
  }
  for (const [setting, value] of Object.entries(flags)) {
    if (value !== undefined) set(setting, value, () => `--${setting.replaceAll('_', '-')}`);
  }

  const parsed = ConfigSchema.safeParse(Object.fromEntries(settings));
  if (parsed.success) {
    const openTelemetry = Object.fromEntries(
      Object.entries(environment).flatMap(([name, value]) =>
        name.startsWith('OTEL_') && value !== undefined && value !== '' ? [[name, value]] : [],
      ),
    );
    const { providerTables, ...data } = parsed.data;
    const providers = resolveProviders(providerTables, environment);
    return {
      ok: true,
      config: deepFreeze({ ...data, providers, scripts: scriptFiles(providerTables), openTelemetry }),
      warnings: unknownVariables(environment),
    };
  }
  const problems = parsed.error.issues.flatMap((issue) => {
    const where = (extra: readonly PropertyKey[]): string => {
      const [first = '', ...rest] = [...issue.path, ...extra].map(String);
      const key = [first, ...rest].join('.');
      return origins.get(first)?.(key) ?? key;
    };
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => `${where([key])}: no such setting`);
    }
    return [`${where([])}: expected ${issue.message}`];
  });
  return { ok: false, problems };
}

/** Kubernetes sets these for every container beside a service that is called spindle. */
const OF_A_SERVICE = /^SPINDLE_(?:SERVICE_|PORT$|PORT_)/;

/** A misspelt variable would be no setting at all, without a word; one of a newer version is no reason not to start. */
function unknownVariables(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = [...Object.values(VARIABLES), 'SPINDLE_CONFIG'];
  return Object.keys(environment)
    .filter((name) => name.startsWith('SPINDLE_') && !known.includes(name) && !OF_A_SERVICE.test(name))
    .map(
      (name) =>
        `${name} is no setting of Spindle, and has no effect; the nearest is ${nearestNames(known, name, 1)[0]}.`,
    );
}

/**
 * Reads a credential where the configuration says that it is, each time anew: a file may have been replaced. Throws an
 * Error that names the place, and nothing of what is there.
 */
export function readSecret(
  reference: SecretReference,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  if ('file' in reference) {
    try {
      return readFileSync(reference.file, 'utf8').trim();
    } catch (error) {
      throw new Error(`the file ${reference.file} cannot be read (${reasonOf(error)})`);
    }
  }
  const value = environment[reference.variable];
  if (value === undefined || value === '')
    throw new Error(`the environment variable ${reference.variable} is not set`);
  return value;
}

function tableError(): string {
  return EXPECTED.table;
}

type ReadTable =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problem: string };

function readTable(path: string): ReadTable {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return { ok: false, problem: `${path}: the configuration cannot be read (${reasonOf(error)})` };
  }
  try {
    return { ok: true, value: parse(text) };
  } catch (error) {
    return { ok: false, problem: `${path}: expected TOML: ${reasonOf(error)}` };
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.trim() : String(error);
}

type Present<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** An absent setting is an absent member, as the policies of the SDK want it. */
function withoutUndefined<T extends object>(value: T): Present<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Present<T>;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
