import type { Administration } from '../administration.ts';
import {
  type Administrator,
  createAdministrator,
  SpindleError,
  type TokenInfo,
  type TokenOptions,
} from '../sdk/index.ts';
import { CommandError } from './command-error.ts';
import {
  type ConnectionFlags,
  commandErrorOf,
  configuredConnection,
  connectOptionsOf,
} from './connection.ts';
import { EXIT } from './exit-code.ts';

/** Where nothing names a journal, as `spindle serve` has it. */
export const DEFAULT_JOURNAL = 'sqlite:./spindle-data/spindle.db';
/** Whose a token is that is made in the file, where nothing names a tenant. */
const DEFAULT_TENANT = 'default';

export interface TokenFlags extends ConnectionFlags {
  readonly journal?: string;
}

export type TokenAccess = Pick<Administrator, 'createToken' | 'tokens' | 'revokeToken'>;

/**
 * Runs a part of a command with the tokens of an engine. With a token of the caller's own it asks the engine, which
 * need not be on this machine. Without one it needs the engine's files: it changes them where no engine runs, and
 * else shows the engine the key that is among them.
 */
/** Runs a part of a command with an engine that runs: the record of who did what is asked of it alone. */
export async function withAdministrator<T>(
  flags: TokenFlags,
  run: (administrator: Administrator) => Promise<T>,
): Promise<T> {
  const config = configuredConnection(flags);
  const options = connectOptionsOf(config);
  if (options.token !== undefined || config.clientTls?.certificate !== undefined)
    return remotely(options, run);
  const administration = await open(flags.journal ?? config.journal ?? DEFAULT_JOURNAL);
  if (administration.kind === 'running') return remotely({ ...options, token: administration.token }, run);
  if (administration.kind === 'file') await administration.close();
  const why = administration.kind === 'closed' ? administration.reason : 'No engine runs on this journal.';
  throw new CommandError(EXIT.usage, 'usage', why, 'Its record is in the folder audit beside the journal.');
}

export async function withTokens<T>(flags: TokenFlags, run: (access: TokenAccess) => Promise<T>): Promise<T> {
  const config = configuredConnection(flags);
  const options = connectOptionsOf(config);
  if (options.token !== undefined || config.clientTls?.certificate !== undefined)
    return remotely(options, run);
  const url = flags.journal ?? config.journal ?? DEFAULT_JOURNAL;
  const administration = await open(url);
  switch (administration.kind) {
    case 'closed':
      throw new CommandError(EXIT.usage, 'usage', administration.reason, 'Or put a token in SPINDLE_TOKEN.');
    case 'running':
      return remotely({ ...options, token: administration.token }, run);
    case 'file':
      try {
        return await run(locally(administration));
      } finally {
        await administration.close();
      }
  }
}

async function open(url: string): Promise<Administration> {
  const { openAdministration } = await import('../administration.ts');
  try {
    return await openAdministration(url);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      EXIT.journal,
      'journal',
      why,
      'Name the journal with --journal, or put a token in SPINDLE_TOKEN.',
    );
  }
}

async function remotely<T>(
  options: Parameters<typeof createAdministrator>[0] & { readonly address: string },
  run: (administrator: Administrator) => Promise<T>,
): Promise<T> {
  const administrator = createAdministrator(options);
  try {
    return await run(administrator);
  } catch (error) {
    throw error instanceof SpindleError ? commandErrorOf(error, options.address) : error;
  } finally {
    await administrator.close();
  }
}

type Local = Extract<Administration, { kind: 'file' }>;
type TokenRecord = ReturnType<Local['tokens']['list']>[number];

function locally({ tokens }: Local): TokenAccess {
  return {
    async createToken({
      role,
      tenant = DEFAULT_TENANT,
      subject = '',
      tools = [],
      agents = [],
      lifetimeMs,
    }: TokenOptions) {
      const created = await tokens.create({ role, tenant, subject, tools, agents, lifetimeMs });
      if (!created.ok) throw refusedLocally(created.refusal);
      return { token: infoOf(created.value.record), secret: created.value.secret };
    },
    tokens: async (tenant) => tokens.list(tenant).map(infoOf),
    async revokeToken(id) {
      const revoked = await tokens.revoke(id, undefined);
      if (!revoked.ok) throw refusedLocally(revoked.refusal);
      return infoOf(revoked.value);
    },
  };
}

function refusedLocally({
  reason,
  message,
}: {
  readonly reason: string;
  readonly message: string;
}): CommandError {
  return new CommandError(EXIT.refused, reason, `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
}

function infoOf({
  id,
  role,
  tenant,
  subject,
  tools,
  agents,
  createdAt,
  expiresAt,
  revokedAt,
}: TokenRecord): TokenInfo {
  return {
    id,
    role,
    tenant,
    subject,
    tools,
    agents,
    createdAt: new Date(createdAt),
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokedAt: new Date(revokedAt) }),
  };
}
