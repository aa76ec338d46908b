import type { Command } from 'commander';
import {
  addConnectionOptions,
  type ConnectionFlags,
  configuredConnection,
  connectOptionsOf,
} from './connection.ts';

const HELP = `
Speaks MCP on standard input and output, for clients that start their servers
themselves. In their settings:
  {"mcpServers": {"spindle": {
    "command": "npx", "args": ["spindle", "mcp", "--address", "127.0.0.1:7433"]
  }}}
Clients that connect over HTTP need no such process: \`spindle serve\` answers
them at http://127.0.0.1:7434/mcp.

What goes wrong is told on standard error. It ends when its standard input does;
calls go on.
`;

export function defineMcp(command: Command): void {
  addConnectionOptions(command)
    .description('Offers every tool of an engine to an MCP client on standard input and output.')
    .addHelpText('after', HELP)
    .action(mcp);
}

async function mcp(flags: ConnectionFlags): Promise<void> {
  const options = connectOptionsOf(configuredConnection(flags));
  const { createClient } = await import('../sdk/index.ts');
  const { clientSource } = await import('../gateway/client-source.ts');
  const { serveStdio } = await import('../gateway/stdio-gateway.ts');
  const { VERSION } = await import('../sdk/version.ts');
  await using client = createClient(options);
  await serveStdio({
    input: process.stdin,
    output: process.stdout,
    source: clientSource(client),
    version: VERSION,
    now: () => performance.now(),
    newCallId: () => crypto.randomUUID(),
    // Its message may quote what the client sent (9.4).
    onError: ({ name }) =>
      process.stderr.write(`spindle: a message from or to the MCP client failed (${name})\n`),
  });
}
