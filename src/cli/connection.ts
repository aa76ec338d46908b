import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { type ConnectOptions, DEFAULT_ADDRESS, type TlsOptions } from '../sdk/grpc/connect-options.ts';
import type { Client, SpindleError } from '../sdk/index.ts';
import { CommandError, reportWarning } from './command-error.ts';
import { EXIT } from './exit-code.ts';

/** The options of every command that talks to an engine. */
export interface ConnectionFlags {
  readonly address?: string;
  readonly config?: string;
  readonly tokenFile?: string;
  readonly tls?: boolean;
  readonly tlsAuthority?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly json?: boolean;
}

export function addConnectionOptions(command: Command): Command {
  return command
    .option('--address <host:port>', 'the engine (default: SPINDLE_ADDRESS, or 127.0.0.1:7433)')
    .option('--token-file <file>', 'a file that holds the token (default: SPINDLE_TOKEN, SPINDLE_TOKEN_FILE)')
    .option('--tls', 'speak TLS, and trust the authorities of this system')
    .option('--tls-authority <file>', 'speak TLS, and trust this authority (PEM)')
    .option('--client-certificate <file>', 'show this certificate (PEM); needs --client-key')
    .option('--client-key <file>', 'its key (PEM)')
    .option('--config <file>', 'a TOML file with settings (default: SPINDLE_CONFIG)')
    .option('--json', 'output for programs');
}

/** The configuration of a command that talks to an engine. */
export function configuredConnection(flags: ConnectionFlags) {
  const { address, config: file, tokenFile, tls, tlsAuthority, clientCertificate, clientKey } = flags;
  const settings = {
    address,
    token_file: tokenFile,
    tls,
    tls_authority: tlsAuthority,
    client_certificate: clientCertificate,
    client_key: clientKey,
  };
  return configured({ file, flags: settings }, (warning) => reportWarning(warning, flags.json === true));
}

/** How a configuration reaches its engine, and as whom. */
export function connectOptionsOf(
  config: ReturnType<typeof configured>,
): ConnectOptions & { address: string } {
  const { address = DEFAULT_ADDRESS, token, tokenFile, clientTls } = config;
  if (tokenFile !== undefined) tokenIn(tokenFile);
  // Read for each connection: whoever renews the token need not know of this process.
  const bearer = tokenFile === undefined ? token : () => tokenIn(tokenFile);
  return {
    address,
    ...(bearer === undefined ? {} : { token: bearer }),
    ...(clientTls === undefined ? {} : { tls: tlsOf(clientTls) }),
  };
}

type ClientTls = NonNullable<ReturnType<typeof configured>['clientTls']>;

function tlsOf({ authority, certificate, key }: ClientTls): TlsOptions {
  return {
    ...(authority === undefined ? {} : { authority: fileOf(authority) }),
    ...(certificate === undefined ? {} : { certificate: fileOf(certificate) }),
    ...(key === undefined ? {} : { key: fileOf(key) }),
  };
}

function tokenIn(path: string): string {
  return fileOf(path).toString('utf8').trim();
}

function fileOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(EXIT.usage, 'configuration', `${path} cannot be read: ${why}`);
  }
}

/**
 * The configuration, or the end of the command with one line for each problem.
 *
 * @param warn hears of what has no effect
 */
export function configured(sources: Parameters<typeof loadConfig>[0], warn: (warning: string) => void) {
  const loaded = loadConfig(sources);
  if (loaded.ok) {
    loaded.warnings.forEach(warn);
    return loaded.config;
  }
  throw new CommandError(
    EXIT.usage,
    'configuration',
    `The configuration cannot be used.\n${loaded.problems.map((problem) => `  ${problem}`).join('\n')}`,
  );
}

/** Runs a part of a command with a client, closes that, and rewords what the engine or the way to it refuses. */
export async function withClient<T>(flags: ConnectionFlags, run: (client: Client) => Promise<T>): Promise<T> {
  const options = connectOptionsOf(configuredConnection(flags));
  const { address } = options;
  const { createClient, SpindleError } = await import('../sdk/index.ts');
  const client = createClient(options);
  try {
    return await run(client);
  } catch (error) {
    throw error instanceof SpindleError ? commandErrorOf(error, address) : error;
  } finally {
    await client.close();
  }
}

/**
 * The same for what waits for an engine to come back. A single request first: it fails at once where there is none.
 */
export function withEngine<T>(flags: ConnectionFlags, run: (client: Client) => Promise<T>): Promise<T> {
  return withClient(flags, async (client) => {
    // Names that no tool has: the answer is short.
    await client.tools(['-']);
    return run(client);
  });
}

/** What a refusal, or no answer at all, means to whoever typed the command. */
export function commandErrorOf(error: SpindleError, address: string): CommandError {
  const { code, reason, message, metadata } = error;
  const callId = metadata['call_id'];
  if (callId !== undefined && (reason === 'unavailable' || reason === 'wait_timeout')) {
    const lost = reason === 'unavailable';
    return new CommandError(
      lost ? EXIT.unreachable : EXIT.timeout,
      lost ? 'unreachable' : reason,
      lost
        ? `The engine at ${address} does not answer any more. Call ${callId} may go on.`
        : sentence(message),
      `Do not call again, which may do the work twice: \`spindle watch ${callId}\` follows this call.`,
      { callId },
    );
  }
  if (reason === 'unavailable' && message.includes(NOT_GRPC)) {
    return new CommandError(
      EXIT.unreachable,
      'unreachable',
      `What answers at ${address} is no gRPC port.`,
      PORT_HINT,
    );
  }
  if (reason === 'unavailable' || reason === 'deadline_exceeded') {
    return new CommandError(
      EXIT.unreachable,
      'unreachable',
      `No engine answers at ${address}.`,
      'Start one with `spindle serve`, or name another with --address or SPINDLE_ADDRESS.',
    );
  }
  if (code === 'UNAUTHENTICATED') {
    return new CommandError(
      EXIT.refused,
      reason,
      sentence(message),
      'Put a token in SPINDLE_TOKEN, or its file in --token-file; `spindle token create` makes one.',
    );
  }
  if (reason === 'wait_timeout') return new CommandError(EXIT.timeout, reason, sentence(message));
  if (code === 'UNAVAILABLE') {
    return new CommandError(
      EXIT.unreachable,
      reason,
      `The engine at ${address} takes no request: ${message}`,
      'Try again once it runs again; its log says more.',
    );
  }
  return new CommandError(
    EXIT.refused,
    reason,
    sentence(message),
    `(${reason}, ${code}; docs/errors.md explains it.)`,
  );
}

/** What grpc-js says of a peer that speaks HTTP/1.1, say. */
export const NOT_GRPC = 'Protocol error';
export const PORT_HINT =
  'Name the address behind `grpc=` in the ready line of `spindle serve`: commands and workers use that port.';

/** A field of the contract, such as call_id, keeps its spelling. */
function sentence(text: string): string {
  const start = /^\w*_/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}
