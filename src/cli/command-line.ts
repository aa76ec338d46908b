import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { CommandError, reportError } from './command-error.ts';
import { EXIT, EXIT_CODES_HELP } from './exit-code.ts';

/** Adds options, help and action to a command. The action sets process.exitCode where it is not 0. */
type Define = (command: Command) => void;

/** Each command with its line in the list, and its own file, which is read when it is wanted. */
const COMMANDS: readonly (readonly [name: string, summary: string, load: () => Promise<Define>])[] = [
  ['serve', 'run an engine', async () => (await import('./serve.ts')).defineServe],
  ['worker', 'run the tools and agents of a file', async () => (await import('./worker.ts')).defineWorker],
  ['run', 'run a turn of an agent', async () => (await import('./run.ts')).defineRun],
  ['sessions', 'list sessions', async () => (await import('./sessions.ts')).defineSessions],
  ['events', 'show what a session recorded', async () => (await import('./events.ts')).defineEvents],
  ['resume', 'answer an interrupt', async () => (await import('./resume.ts')).defineResume],
  ['tools', 'list or find tools', async () => (await import('./tools.ts')).defineTools],
  ['call', 'call a tool and show its result', async () => (await import('./call.ts')).defineCall],
  ['calls', 'list calls', async () => (await import('./calls.ts')).defineCalls],
  ['get', 'show a call as it stands', async () => (await import('./get.ts')).defineGet],
  ['watch', 'wait for a call and show what happens', async () => (await import('./watch.ts')).defineWatch],
  ['trace', 'draw what a call or a session did', async () => (await import('./trace.ts')).defineTrace],
  ['top', 'show tools, rates and workers, live', async () => (await import('./top.ts')).defineTop],
  ['cancel', 'stop a call or a turn', async () => (await import('./cancel.ts')).defineCancel],
  ['settle', 'answer a call that waits for one', async () => (await import('./settle.ts')).defineSettle],
  ['blob', 'write the bytes of a blob', async () => (await import('./blob.ts')).defineBlob],
  ['mcp', 'serve the tools to an MCP client on stdio', async () => (await import('./mcp.ts')).defineMcp],
  ['audit', 'show who did what', async () => (await import('./audit.ts')).defineAudit],
  ['token', 'say who may connect', async () => (await import('./token.ts')).defineToken],
  [
    'connectors',
    'show MCP servers, and log in to them',
    async () => (await import('./connectors.ts')).defineConnectors,
  ],
  [
    'conformance',
    'check a worker in any language',
    async () => (await import('./conformance.ts')).defineConformance,
  ],
];

const EXAMPLES = `
Start here:
  spindle serve                        an engine at 127.0.0.1:7433, which keeps
                                       its journal in ./spindle-data
  spindle worker tools.ts              serves the tools that tools.ts exports
  spindle call greet '{"name":"Ada"}'  calls one of them
  spindle run clerk 'Where is order 7?'
                                       asks an agent that it exports

Every command takes --json for programs and --help for its options.
SPINDLE_ADDRESS names the engine.

${EXIT_CODES_HELP}
`;

/** Runs a command line, without the names of program and script. Gives the exit code, and never rejects. */
export async function run(argv: readonly string[]): Promise<number> {
  const json = argv.includes('--json');
  try {
    const program = await build(argv, json);
    await program.parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    // Help and the version arrive here as well, with code 0; everything else has been told on standard error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportError(error, json);
  }
}

async function build(argv: readonly string[], json: boolean): Promise<Command> {
  const program = new Command('spindle')
    .description(
      'Spindle calls tools: checks the arguments, finds a worker, holds it to its deadline, keeps the record.',
    )
    .version(version(), '-V, --version')
    .exitOverride()
    .configureOutput({
      getOutHelpWidth: helpWidth,
      getErrHelpWidth: helpWidth,
      outputError: (text) => {
        const message = text.trim().replace(/^error: /, '');
        reportError(new CommandError(EXIT.usage, 'usage', message, '`spindle --help` shows how.'), json);
      },
    })
    .addHelpText('after', EXAMPLES);
  for (const [name, summary, load] of COMMANDS) {
    const command = program
      .command(name)
      .summary(summary)
      .description(summary)
      .copyInheritedSettings(program);
    if (argv.includes(name)) (await load())(command);
  }
  return program;
}

/** Longer lines are hard to read, and the texts around the options are written for this width. */
const MAX_HELP_COLUMNS = 80;

function helpWidth(): number {
  return process.stdout.isTTY ? Math.min(process.stdout.columns, MAX_HELP_COLUMNS) : MAX_HELP_COLUMNS;
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return String(version);
}
