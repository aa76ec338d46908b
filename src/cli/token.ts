import { type Command, Option } from 'commander';
import type { TokenInfo, TokenOptions } from '../sdk/index.ts';
import { addConnectionOptions } from './connection.ts';
import { durationOption } from './option-value.ts';
import { styled, table } from './style.ts';
import { type TokenFlags, withTokens } from './token-access.ts';

interface CreateFlags extends TokenFlags {
  readonly role: TokenOptions['role'];
  readonly tenant?: string;
  readonly subject?: string;
  readonly tools?: readonly string[];
  readonly agents?: readonly string[];
  readonly expires?: number;
}

interface ListFlags extends TokenFlags {
  readonly tenant?: string;
}

const HELP = `
With the token of an operator (SPINDLE_TOKEN, --token-file) the engine is asked,
and the tokens are its tenant's. Without one, whoever reads the engine's files
is its administrator: the journal is changed where no engine runs, and else the
running one is asked with the key that is beside the journal.

Once there is a token, the engine refuses whoever has none.

--agents says which agents a client talks to, and --tools what is called for
it: by itself, and by those agents in its turns. An agent that the engine's
setting privileged_agents names calls all of its tools, whoever talks to it.

Examples:
  spindle token create --role worker --tools 'billing_*' --expires 90d
  spindle token create --role client --tenant acme --subject shop > shop.token
  spindle token list
  spindle token revoke 9mE3…
`;

export function defineToken(command: Command): void {
  command.description('Says who may connect to an engine, and what they may do.').addHelpText('after', HELP);
  addOptions(command.command('create'))
    .description('Makes a token, and writes it to standard output. It is shown this once.')
    .addOption(
      new Option('--role <role>', 'what it is for')
        .choices(['worker', 'client', 'operator'])
        .makeOptionMandatory(),
    )
    .option('--tenant <name>', 'whose it is (default: the own tenant, or "default")')
    .option('--subject <name>', 'whose the calls and sessions are that it makes (default: its id)')
    .option('--tools <glob...>', 'the tools that it serves, or that it and its agents call (default: all)')
    .option('--agents <glob...>', 'the agents that it serves or talks to (default: all)')
    .option('--expires <duration>', 'how long it is good for (default: until it is revoked)', durationOption)
    .action(createToken);
  addOptions(command.command('list'))
    .description('Lists tokens, newest first, with those that have ended.')
    .option('--tenant <name>', 'only those of this tenant')
    .action(listTokens);
  addOptions(command.command('revoke'))
    .description('Ends a token. What runs on its streams may be answered first, within the resume grace.')
    .argument('<id>', 'the id of the token')
    .action(revokeToken);
}

function addOptions(command: Command): Command {
  return addConnectionOptions(command).option(
    '--journal <url>',
    'the journal of the engine, where there is no token (default: sqlite:./spindle-data/spindle.db)',
  );
}

async function createToken(flags: CreateFlags): Promise<void> {
  const { role, tenant, subject, tools = [], agents = [], expires, json } = flags;
  const { token, secret } = await withTokens(flags, (access) =>
    access.createToken({
      role,
      tools,
      agents,
      ...(tenant === undefined ? {} : { tenant }),
      ...(subject === undefined ? {} : { subject }),
      ...(expires === undefined ? {} : { lifetimeMs: expires }),
    }),
  );
  if (json === true) {
    process.stdout.write(`${JSON.stringify({ ...token, secret })}\n`);
    return;
  }
  // Alone on standard output, so that it can go into a file of its own.
  process.stdout.write(`${secret}\n`);
  process.stderr.write(
    `${styled(process.stderr, 'dim', `Token ${token.id}: ${summary(token)}. Keep it: it is not shown again.`)}\n`,
  );
}

async function listTokens(flags: ListFlags): Promise<void> {
  const tokens = await withTokens(flags, (access) => access.tokens(flags.tenant));
  if (flags.json === true) {
    process.stdout.write(`${JSON.stringify(tokens)}\n`);
    return;
  }
  if (tokens.length === 0) {
    process.stdout.write('There are no tokens: the engine asks nobody who they are.\n');
    return;
  }
  const rows = tokens.map((token) => [
    token.id,
    token.role,
    token.tenant,
    token.subject,
    stateOf(token),
    globsOf(token),
  ]);
  process.stdout.write(`${table([HEAD, ...rows], process.stdout)}\n`);
}

const HEAD = ['ID', 'ROLE', 'TENANT', 'SUBJECT', 'STATE', 'FOR'];

async function revokeToken(id: string, flags: TokenFlags): Promise<void> {
  const token = await withTokens(flags, (access) => access.revokeToken(id));
  process.stdout.write(flags.json === true ? `${JSON.stringify(token)}\n` : `Revoked ${token.id}.\n`);
}

function summary(token: TokenInfo): string {
  return `${token.role} of ${token.tenant}, ${globsOf(token)}, ${stateOf(token)}`;
}

function stateOf({ expiresAt, revokedAt }: TokenInfo): string {
  if (revokedAt !== undefined) return `revoked ${revokedAt.toISOString()}`;
  if (expiresAt === undefined) return 'good until it is revoked';
  return `${expiresAt.getTime() <= Date.now() ? 'expired' : 'good until'} ${expiresAt.toISOString()}`;
}

function globsOf({ tools, agents }: TokenInfo): string {
  const parts = [
    ...(tools.length === 0 ? [] : [`tools ${tools.join(' ')}`]),
    ...(agents.length === 0 ? [] : [`agents ${agents.join(' ')}`]),
  ];
  return parts.length === 0 ? 'everything' : parts.join(', ');
}
