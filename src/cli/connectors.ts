import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config.ts';
import type { Inspection } from '../connectors/inspection.ts';
import { CommandError, reportWarning } from './command-error.ts';
import { configured } from './connection.ts';
import { connectorOptions } from './connector-options.ts';
import { EXIT } from './exit-code.ts';
import { oneLine, styled, table } from './style.ts';

interface ConnectorsFlags {
  readonly config?: string;
  readonly journal?: string;
  readonly json?: boolean;
  readonly accept?: boolean;
}

const HELP = `
Examples:
  spindle connectors list --config spindle.toml
  spindle connectors check github            connects, and shows what the server offers and what was refused
  spindle connectors check github --accept   approves every tool as it is now, for a connector that pins
  spindle connectors login mail              prints an address to open in a browser, and keeps the tokens
`;

/** A connector that a command is about, and what is kept about it. */
interface Chosen {
  readonly id: string;
  readonly options: ReturnType<typeof connectorOptions>;
  readonly directory: string | undefined;
}

export function defineConnectors(command: Command): void {
  command
    .description('Shows MCP servers of the configuration, what they offer, and logs in to them.')
    .addHelpText('after', HELP);
  const about = (name: string, text: string): Command =>
    command
      .command(name)
      .description(text)
      .option('--config <file>', 'the TOML file that names the connectors (default: SPINDLE_CONFIG)')
      .option(
        '--journal <url>',
        'the journal beside which approvals and logins are kept (default: as for serve)',
      )
      .option('--json', 'output for programs')
      .copyInheritedSettings(command);
  about('list', 'Lists the connectors of the configuration.').action(list);
  about('check', 'Connects to a server, and shows what it offers, what was refused, and why.')
    .argument('<id>', 'the connector')
    .option('--accept', 'approve every tool as it is now')
    .action(check);
  about('login', 'Logs in to a server with a browser.').argument('<id>', 'the connector').action(logIn);
}

async function list(flags: ConnectorsFlags): Promise<void> {
  const config = await read(flags);
  const { connectorState } = await import('../connectors/connector-state.ts');
  const directory = directoryOf(await journalOf(config));
  const rows = await Promise.all(
    Object.entries(config.connectors).map(async ([id, settings]) => {
      const { transport } = connectorOptions(settings);
      const auth = transport.kind === 'http' ? transport.auth.kind : 'none';
      const { tokens } = await connectorState(directory, id).credentials.read();
      const login = auth === 'authorization_code' ? (tokens === undefined ? 'missing' : 'done') : undefined;
      const at = transport.kind === 'http' ? transport.url : transport.command;
      return { id, kind: transport.kind, at, auth, login, pinned: settings.pinned ?? false };
    }),
  );
  if (flags.json === true) return print(rows);
  if (rows.length === 0) return remark('No connector is configured.');
  const cells = rows.map(({ id, kind, at, auth, login, pinned }) => [
    id,
    kind,
    login === undefined ? auth : `${auth} (login ${login})`,
    pinned ? 'yes' : 'no',
    oneLine(at),
  ]);
  process.stdout.write(`${table([['ID', 'BY', 'AUTH', 'PINNED', 'SERVER'], ...cells], process.stdout)}\n`);
}

async function check(id: string, flags: ConnectorsFlags): Promise<void> {
  const chosen = await choose(id, flags);
  const { inspectConnector } = await import('../connectors/inspection.ts');
  const { connectorState } = await import('../connectors/connector-state.ts');
  const { createSchemas } = await import('../schema/schemas.ts');
  const { systemClock, systemRandom } = await import('../system.ts');
  const { VERSION } = await import('../sdk/version.ts');
  const found = await inspectConnector(id, {
    connector: chosen.options,
    state: connectorState(chosen.directory, id),
    clock: systemClock(),
    random: systemRandom(),
    schemas: createSchemas(),
    version: VERSION,
  });
  if (found.kind === 'failed') {
    const words = found.lastWords === '' ? '' : `It wrote: ${found.lastWords}`;
    throw new CommandError(
      EXIT.unreachable,
      'connector_failed',
      `The connector ${id} fails: ${found.reason}`,
      words,
    );
  }
  if (flags.accept === true) await accept(chosen, found);
  if (flags.json === true) {
    const { tools, withheld } = found.offers;
    const names = tools.map(({ serverName, definition }) => ({ name: definition.tool.name, serverName }));
    return print({ server: found.server, tools: names, withheld, accepted: flags.accept === true });
  }
  show(id, found, flags.accept === true);
}

async function accept(
  { id, options, directory }: Chosen,
  found: Extract<Inspection, { kind: 'offers' }>,
): Promise<void> {
  if (options.pinned !== true)
    throw usage(`The connector ${id} does not pin its tools.`, 'Set `pinned = true` in its table first.');
  if (directory === undefined)
    throw usage('A journal in memory keeps no approvals.', 'Name the one of the engine with --journal.');
  await found.accept();
}

function show(
  id: string,
  { server, offers }: Extract<Inspection, { kind: 'offers' }>,
  accepted: boolean,
): void {
  remark(`${id} is ${server}`);
  if (offers.tools.length > 0) {
    const cells = offers.tools.map(({ definition: { tool } }) => [tool.name, oneLine(tool.description)]);
    process.stdout.write(`${table([['TOOL', 'WHAT IT DOES'], ...cells], process.stdout)}\n`);
  }
  const withheld = accepted ? offers.withheld.filter(({ held }) => !held) : offers.withheld;
  for (const { name, reason, held } of withheld)
    process.stderr.write(`${held ? 'held back' : 'refused'}: ${oneLine(name)}: ${oneLine(reason)}\n`);
  if (accepted) remark('Every tool is approved as it is now; the engine takes it with its next list.');
}

async function logIn(id: string, flags: ConnectorsFlags): Promise<void> {
  const { options, directory } = await choose(id, flags);
  const { transport } = options;
  if (transport.kind !== 'http' || transport.auth.kind !== 'authorization_code')
    throw usage(
      `The connector ${id} takes no login.`,
      'Set `auth = "authorization_code"` in its table first.',
    );
  if (directory === undefined)
    throw usage('A journal in memory keeps no login.', 'Name the one of the engine with --journal.');
  const { login } = await import('../connectors/login.ts');
  const { connectorState } = await import('../connectors/connector-state.ts');
  try {
    await login({
      transport,
      auth: transport.auth,
      store: connectorState(directory, id).credentials,
      show: (url) => process.stderr.write(`Open this address in a browser:\n${url}\n`),
    });
  } catch (error) {
    const reason = error instanceof Error ? oneLine(error.message) : String(error);
    throw new CommandError(EXIT.refused, 'login_failed', `The login to ${id} failed: ${reason}`);
  }
  if (flags.json === true) return print({ connector: id, login: 'done' });
  remark(`Logged in. The engine takes the tokens with its next try.`);
}

async function read({ config: file, journal, json = false }: ConnectorsFlags): Promise<Config> {
  return configured({ file, flags: { journal } }, (warning) => reportWarning(warning, json));
}

async function choose(id: string, flags: ConnectorsFlags): Promise<Chosen> {
  const config = await read(flags);
  const settings = config.connectors[id];
  if (settings === undefined) {
    const known = Object.keys(config.connectors).join(', ');
    throw usage(
      `No connector is called ${id}.`,
      known === '' ? 'None is configured.' : `There are: ${known}.`,
    );
  }
  return { id, options: connectorOptions(settings), directory: directoryOf(await journalOf(config)) };
}

async function journalOf(config: Config): Promise<string> {
  const { DEFAULT_JOURNAL } = await import('../main.ts');
  return config.journal ?? DEFAULT_JOURNAL;
}

/** Where an engine with this journal keeps what it knows about connectors. */
function directoryOf(journal: string): string | undefined {
  return journal === 'memory:' ? undefined : join(dirname(journal.replace(/^sqlite:/, '')), 'connectors');
}

function usage(message: string, hint: string): CommandError {
  return new CommandError(EXIT.usage, 'usage', message, hint);
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function remark(text: string): void {
  process.stderr.write(`${styled(process.stderr, 'dim', oneLine(text))}\n`);
}
