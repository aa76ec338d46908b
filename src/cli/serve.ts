import type { Command } from 'commander';
import type { RunningEngine, StartError } from '../main.ts';
import { retryPolicyOf } from '../sdk/tool-definition.ts';
import { CommandError } from './command-error.ts';
import { configured } from './connection.ts';
import { connectorOptions } from './connector-options.ts';
import { END_SIGNALS, type EndSignal, EXIT, type ExitCode, signalExitCode } from './exit-code.ts';

interface ServeFlags {
  readonly config?: string;
  readonly listen?: string;
  readonly http?: string;
  readonly journal?: string;
  readonly retain?: string;
  readonly insecure?: boolean;
  readonly metrics?: string;
  readonly openMetrics?: boolean;
  readonly recordContent?: boolean;
  readonly tlsCertificate?: string;
  readonly tlsKey?: string;
  readonly tlsClientAuthority?: string;
  readonly logLevel?: string;
  readonly shutdownGrace?: string;
  readonly resumeGrace?: string;
  readonly json?: boolean;
}

const HELP = `
Prints one line on standard output once it is ready:
  spindle ready grpc=127.0.0.1:7433 http=127.0.0.1:7434 journal=memory:
Its log goes to standard error. SIGTERM and SIGINT let running calls end within
the grace; a second one ends it at once, which loses nothing that was recorded.

Examples:
  spindle serve
  spindle serve --journal memory: --http off
  spindle serve --config /etc/spindle.toml
  spindle serve --listen 127.0.0.1:0 --http 127.0.0.1:0
                                     any free ports: the line above names them
`;

export function defineServe(command: Command): void {
  command
    .description('Runs an engine: workers and callers connect to it, and it keeps the record of every call.')
    .option('--listen <host:port>', 'the gRPC port (default: 127.0.0.1:7433)')
    .option('--http <host:port|off>', 'the port for gRPC-Web, Connect and JSON (default: 127.0.0.1:7434)')
    .option('--journal <url>', 'memory: or sqlite:PATH (default: sqlite:./spindle-data/spindle.db)')
    .option('--retain <duration>', 'how long calls are kept after their end (default: 7d)')
    .option('--insecure', 'allow an address that other machines reach without TLS, or without credentials')
    .option('--tls-certificate <file>', 'TLS on both ports: the certificate and its chain (PEM)')
    .option('--tls-key <file>', 'its key (PEM)')
    .option('--tls-client-authority <file>', 'ask clients for a certificate of this authority (PEM)')
    .option('--metrics <host:port|off>', 'a port with /metrics for Prometheus (default: none)')
    .option('--open-metrics', 'answer there without asking for a credential')
    .option('--record-content', 'put arguments and results into spans, redacted and capped')
    .option('--log-level <level>', 'info, warn, error or silent (default: info)')
    .option('--shutdown-grace <duration>', 'how long a shutdown waits for running calls (default: 10s)')
    .option('--resume-grace <duration>', 'how long a worker that is away keeps what it holds (default: 30s)')
    .option('--config <file>', 'a TOML file with settings (default: SPINDLE_CONFIG)')
    .option('--json', 'the ready line as JSON, and the log too')
    .addHelpText('after', HELP)
    .action(serve);
}

async function serve(flags: ServeFlags): Promise<void> {
  const { config: file, json = false, ...rest } = flags;
  // An option has the name of its setting, written as options are.
  const settings = Object.entries(rest).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  const warnings: string[] = [];
  const config = configured({ file, flags: Object.fromEntries(settings) }, (warning) =>
    warnings.push(warning),
  );
  const signals = listenForSignals();
  const { createEngine, openLog, StartError } = await import('../main.ts');
  const people = process.stderr.isTTY && !json;
  const observer = await openLog({
    level: config.logLevel,
    pretty: people,
    colour: people && process.stderr.hasColors(),
  });
  for (const message of warnings) observer.report('warn', 'unknown_variable', { message });

  let engine: RunningEngine;
  try {
    const { listen, http, journal, insecure, retry, resumeGraceMs, retainMs } = config;
    const { serverTls, certificates, jwt, limits, httpHosts, audit, reflection, health } = config;
    const { privilegedAgents } = config;
    engine = await createEngine({
      ...(listen === undefined ? {} : { listen }),
      ...(http === undefined ? {} : { http }),
      ...(journal === undefined ? {} : { journal }),
      ...(retry === undefined ? {} : { retry: policies(retry) }),
      ...(resumeGraceMs === undefined ? {} : { resumeGraceMs }),
      ...(retainMs === undefined ? {} : { retainMs }),
      connectors: Object.fromEntries(
        Object.entries(config.connectors).map(([id, settings]) => [id, connectorOptions(settings)]),
      ),
      providers: config.providers,
      scripts: config.scripts,
      agents: config.agents,
      ...(serverTls === undefined ? {} : { tls: serverTls }),
      ...(certificates === undefined ? {} : { certificates }),
      ...(jwt === undefined ? {} : { jwt }),
      ...(limits === undefined ? {} : { limits }),
      ...(httpHosts === undefined ? {} : { httpHosts }),
      ...(privilegedAgents === undefined ? {} : { privilegedAgents }),
      ...(audit === undefined ? {} : { audit }),
      ...(reflection === undefined ? {} : { reflection }),
      ...(health === undefined ? {} : { health }),
      insecure,
      telemetry: telemetryOf(config),
      observer,
    });
  } catch (error) {
    throw error instanceof StartError ? startFailure(error) : error;
  }

  const stopped = signals.first();
  const { grpcAddress: grpc, httpAddress = 'off', metricsAddress: metrics, journal } = engine;
  process.stdout.write(
    json
      ? `${JSON.stringify({ ready: { grpc, http: httpAddress, metrics, journal } })}\n`
      : `spindle ready grpc=${grpc} http=${httpAddress}${metrics === undefined ? '' : ` metrics=${metrics}`} journal=${journal}\n`,
  );

  const reason = await Promise.race([stopped, engine.failed]);
  const signal = typeof reason === 'string' ? reason : undefined;
  observer.report('info', 'stopping', { reason: signal ?? 'the journal failed' });
  await engine.stop(signal === undefined ? 0 : config.shutdownGraceMs);
  if (reason instanceof Error) {
    throw new CommandError(
      EXIT.journalFailed,
      'journal_failed',
      `The journal failed, and the engine has stopped: ${reason.message}`,
      'Everything that it acknowledged is recorded. Repair what the message names, and start it again.',
    );
  }
  observer.report('info', 'stopped', {});
  // A collector that does not answer keeps its connection and its timers a while; nobody waits for those any more.
  process.exit(EXIT.ok);
}

function telemetryOf(config: ReturnType<typeof configured>) {
  const { openTelemetry, metrics, metricsTenant, openMetrics, recordContent, redact } = config;
  return {
    variables: openTelemetry,
    ...(metricsTenant === undefined ? {} : { metricsTenant }),
    ...(openMetrics === undefined ? {} : { openMetrics }),
    ...(metrics === undefined ? {} : { metrics }),
    ...(redact === undefined ? {} : { redact }),
    recordContent,
  };
}

interface Signals {
  /** Resolves with the first signal from now on; before, a signal ends the process, which serves nobody yet. */
  first(): Promise<EndSignal>;
}

/** The second signal ends the process as well, whatever it waits for. */
function listenForSignals(): Signals {
  let listener: ((signal: EndSignal) => void) | undefined;
  for (const signal of END_SIGNALS) {
    process.on(signal, () => {
      if (listener === undefined) process.exit(signalExitCode(signal));
      listener(signal);
      listener = undefined;
    });
  }
  return {
    first: () =>
      new Promise((resolve) => {
        listener = resolve;
      }),
  };
}

function policies({ base, tool }: NonNullable<ReturnType<typeof configured>['retry']>) {
  return {
    ...(base === undefined ? {} : { base: retryPolicyOf(base) }),
    ...(tool === undefined ? {} : { tool: retryPolicyOf(tool) }),
  };
}

function startFailure(error: StartError): CommandError {
  const codes: Readonly<Record<StartError['kind'], ExitCode>> = {
    option: EXIT.usage,
    address: EXIT.address,
    journal: EXIT.journal,
  };
  return new CommandError(codes[error.kind], error.kind, error.message);
}
