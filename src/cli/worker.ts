import { hostname } from 'node:os';
import { basename } from 'node:path';
import type { Command } from 'commander';
import {
  type Agent,
  createWorker,
  SpindleError,
  type Tool,
  type Worker,
  type WorkerStatus,
} from '../sdk/worker/index.ts';
import { CommandError } from './command-error.ts';
import {
  addConnectionOptions,
  type ConnectionFlags,
  commandErrorOf,
  configuredConnection,
  connectOptionsOf,
  NOT_GRPC,
  PORT_HINT,
} from './connection.ts';
import { EXIT } from './exit-code.ts';
import { moduleExports } from './module-exports.ts';
import { countOption } from './option-value.ts';
import { signatureOf } from './signature.ts';
import { lengthOfTime, oneLine, styled, table } from './style.ts';

interface WorkerFlags extends ConnectionFlags {
  readonly name?: string;
  readonly maxInFlight?: number;
}

const HELP = `
FILE is a TypeScript or JavaScript module. Each of its exports may be a tool, a
toolchain, an agent, or an array of these; other exports are left alone. Without
an engine the worker tries again until there is one.

SIGTERM and Ctrl-C let running calls end, within 30 s; a second signal ends the
worker at once.

Example (greet.ts):
  import { defineTool } from 'spindle/worker';
  import { z } from 'zod';

  export const greet = defineTool({
    name: 'greet',
    description: 'Greets somebody by name.',
    schema: z.object({ name: z.string() }),
    execute: ({ name }) => \`Hello, \${name}!\`,
  });

  spindle worker greet.ts
`;

export function defineWorker(command: Command): void {
  addConnectionOptions(command)
    .description('Runs the tools and agents that a file exports, for whoever calls them through the engine.')
    .argument('<file>', 'the module')
    .option('--name <name>', 'a name for people (default: the file and the host)')
    .option('--max-in-flight <n>', 'the most calls at once (default: 16)', countOption)
    .addHelpText('after', HELP)
    .action(work);
}

async function work(file: string, flags: WorkerFlags): Promise<void> {
  const connection = connectOptionsOf(configuredConnection(flags));
  const { address } = connection;
  const json = flags.json === true;
  const name = flags.name ?? `${basename(file)}@${hostname()}`;
  const { tools: entries, agents } = await moduleExports(file);
  const worker = makeWorker(file, {
    ...connection,
    name,
    tools: entries,
    agents,
    onStatus: (status) => tell(status, address, json),
    ...(flags.maxInFlight === undefined ? {} : { maxInFlight: flags.maxInFlight }),
  });
  const tools = entries.flatMap((entry) => ('tools' in entry ? entry.tools : [entry]));
  const running = worker.run();
  // `run` rejects as well where there never is a welcome; its reason is the one that is told.
  worker.ready.then(
    () => announce(tools, agents, { name, address, json }),
    () => undefined,
  );
  try {
    await running;
  } catch (error) {
    throw error instanceof SpindleError ? commandErrorOf(error, address) : error;
  }
}

function makeWorker(file: string, options: Parameters<typeof createWorker>[0]): Worker {
  try {
    return createWorker(options);
  } catch (error) {
    // Two tools of one name, say: what the file exports cannot be offered.
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(EXIT.usage, 'unusable_tools', `${file} cannot be served: ${why}`);
  }
}

function announce(
  tools: readonly Tool[],
  agents: readonly Agent[],
  { name, address, json }: { readonly name: string; readonly address: string; readonly json: boolean },
): void {
  if (json) {
    const ready = {
      worker: name,
      address,
      tools: tools.map((tool) => tool.name),
      agents: agents.map(({ id }) => id),
    };
    process.stdout.write(`${JSON.stringify({ ready })}\n`);
    return;
  }
  const rows = [
    ...tools.map(({ name: tool, definition }) => [
      `  ${tool}${signatureOf(definition.inputSchemaJson)}`,
      oneLine(definition.description),
    ]),
    ...agents.map(({ id, config, description }) => [
      `  agent ${id}`,
      description === '' ? config.model : `${oneLine(description)} (${config.model})`,
    ]),
  ];
  process.stdout.write(`${name} serves at ${address}:\n${table(rows, process.stdout)}\n`);
}

/** What an operator wants to see, on standard error. */
function tell(status: WorkerStatus, address: string, json: boolean): void {
  if (json) {
    process.stderr.write(`${JSON.stringify(status)}\n`);
    return;
  }
  const text = statusText(status, address)?.split('\n').map(oneLine).join('\n');
  if (text !== undefined) process.stderr.write(`${styled(process.stderr, 'yellow', text)}\n`);
}

function statusText(status: WorkerStatus, address: string): string | undefined {
  switch (status.kind) {
    case 'connected':
      return status.streamNumber > 1 ? `Connected to ${address}.` : undefined;
    case 'disconnected':
      return `${disconnection(status, address)} Trying again in ${lengthOfTime(status.retryInMs)}.`;
    case 'go_away':
      return `The engine asked to reconnect (${status.reason}).`;
    case 'tools_refused':
      return status.tools.map(({ name, reason }) => `The engine refused ${name}: ${reason}`).join('\n');
    case 'answer_refused':
      return `The answer of ${status.toolName} to call ${status.callId} was refused: ${status.reason}`;
    case 'rejected':
      return `A call was given back: ${status.reason}`;
    case 'handler_stuck':
      return `${status.toolName} still runs for call ${status.callId}, which has ended: listen to context.signal.`;
    case 'decision_refused':
      return `The decision of ${status.agentId} about ${status.trigger} was refused: ${status.reason}`;
    case 'decision_failed':
      return `No decision about ${status.trigger}: ${status.reason}`;
    case 'decider_stuck':
      return `${status.agentId} still decides about ${status.trigger}, for which nobody waits: listen to context.signal.`;
    case 'warning':
      return status.message;
    case 'draining':
      return `Draining (${status.reason}): running calls may end, no new one begins.`;
    case 'stopped':
      return status.unfinished === 0 ? undefined : `Stopped with ${status.unfinished} calls unfinished.`;
  }
}

function disconnection({ message }: { readonly message: string }, address: string): string {
  if (message.includes('ECONNREFUSED')) return `No engine answers at ${address}.`;
  if (message.includes(NOT_GRPC)) return `What answers at ${address} is no gRPC port. ${PORT_HINT}`;
  return `The connection to ${address} ended: ${oneLine(message)}.`;
}
