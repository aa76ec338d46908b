import { WorkerService } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { DEFAULT_MAX_IN_FLIGHT, DRAIN_TIMEOUT_MS, MAX_IN_FLIGHT } from '../../core/limits.ts';
import type { Millis } from '../../core/time.ts';
import type { Agent } from '../agent/agent.ts';
import type { ConnectOptions } from '../grpc/connect-options.ts';
import { openDuplex } from '../grpc/stream.ts';
import { type Members, refuseUnknown } from '../known-members.ts';
import { processClock, processRandom, processSoon } from '../process-ports.ts';
import type { Tool } from '../tool.ts';
import { messageOf } from '../tool-error.ts';
import type { Toolchain } from '../toolchain.ts';
import { SDK_NAME } from '../version.ts';
import { createWorkerDriver, type WorkerDriver } from './driver.ts';
import { createHandlerSpans } from './handler-spans.ts';
import { bound, offered } from './offer.ts';
import type { WorkerPorts } from './ports.ts';
import { type WorkerStatus, warnOnConsole } from './status.ts';

export interface WorkerOptions extends ConnectOptions {
  /** Tools and toolchains that it offers to every caller, in the order in which they are declared. */
  readonly tools?: readonly (Tool | Toolchain)[];
  /** Agents for which it decides, and whose own tools it runs. */
  readonly agents?: readonly Agent[];
  /** A name for people: billing-tools, say. */
  readonly name?: string;
  /** The version of the worker's own code. */
  readonly buildId?: string;
  /** The most calls that it runs at once, up to 4,096. 16 where it is not given. */
  readonly maxInFlight?: number;
  /** For routing and for people. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Told what happens to the worker. Prints what needs a person where it is not given. */
  readonly onStatus?: (status: WorkerStatus) => void;
  /** How long a drain waits for what runs. 30 s where it is not given (5.9). */
  readonly drainTimeoutMs?: Millis;
  /** The signals on which `run` drains. SIGTERM and SIGINT where it is not given; a second one kills. */
  readonly signals?: readonly NodeJS.Signals[];
}

const MEMBERS: Members<WorkerOptions> = {
  address: true,
  tls: true,
  token: true,
  tools: true,
  agents: true,
  name: true,
  buildId: true,
  maxInFlight: true,
  labels: true,
  onStatus: true,
  drainTimeoutMs: true,
  signals: true,
};

/** A process that runs tools, and decides, for an engine. */
export interface Worker {
  /**
   * Serves until the worker has been stopped. It reconnects for ever (5.3), and rejects with a SpindleError
   * only where that cannot help: a credential or a hello that the engine refuses, or a service it lacks.
   */
  run(): Promise<void>;
  /** Resolves with the first welcome: the tools can be called. Rejects where `run` ends before that. */
  readonly ready: Promise<void>;
  /** Takes no more work, finishes what it holds, and lets `run` resolve (5.9). Resolves with it. */
  stop(reason?: string): Promise<void>;
  /** Replaces the tools that it offers. Throws for the same reasons as `createWorker`. */
  setTools(tools: readonly (Tool | Toolchain)[]): void;
  /** Changes how many calls it runs at once; 0 pauses it. */
  setMaxInFlight(maxInFlight: number): void;
}

/**
 * Makes a worker. Nothing happens before `run`.
 *
 *     await createWorker({ tools: [weather] }).run();
 *
 * Throws an Error where two tools have one name, an option is out of range, or nobody knows it.
 */
export function createWorker(options: WorkerOptions): Worker {
  refuseUnknown(options, MEMBERS, 'createWorker');
  return workerOver(options, {
    clock: processClock,
    random: processRandom,
    soon: processSoon,
    connect: (listener) => openDuplex(WorkerService.method.connect, options, listener),
    spans: createHandlerSpans(),
  });
}

/** A worker over given ports: a simulation brings its own time and network. */
export function workerOver(options: WorkerOptions, ports: WorkerPorts): Worker {
  const ready = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  // Whoever waits for `run` hears of a failure; nobody has to wait for `ready` as well.
  ready.promise.catch(() => undefined);
  const { onStatus = warnOnConsole, signals = ['SIGTERM', 'SIGINT'] } = options;
  let running: Promise<void> | undefined;
  const tools = offered(options.tools ?? []);
  const agents = bound(options.agents ?? [], tools);

  const driver: WorkerDriver = createWorkerDriver(
    {
      identity: {
        instanceId: ports.random.token(),
        workerName: options.name ?? '',
        buildId: options.buildId ?? '',
        sdk: SDK_NAME,
        labels: options.labels ?? {},
      },
      tools,
      agents,
      maxInFlight: checkedLimit(options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT),
      drainTimeoutMs: options.drainTimeoutMs ?? DRAIN_TIMEOUT_MS,
      tell: guarded(onStatus),
    },
    ports,
    {
      ready: ready.resolve,
      stopped() {
        ready.reject(new Error('the worker was stopped before it had been welcomed'));
        done.resolve();
      },
      failed(error) {
        ready.reject(error);
        done.reject(error);
      },
    },
  );

  async function serve(): Promise<void> {
    const onSignal = (signal: NodeJS.Signals): void => driver.stop(signal);
    for (const signal of signals) process.once(signal, onSignal);
    try {
      if (ports.spans !== undefined) await ports.spans.load();
      driver.start();
      await done.promise;
    } finally {
      for (const signal of signals) process.off(signal, onSignal);
    }
  }

  return {
    ready: ready.promise,
    run() {
      running ??= serve();
      return running;
    },
    async stop(reason = 'stopped') {
      if (running === undefined) return;
      driver.stop(reason);
      await running;
    },
    setTools(replacement) {
      const offers = offered(replacement);
      bound(agents, offers);
      driver.setTools(offers);
    },
    setMaxInFlight: (maxInFlight) => driver.setMaxInFlight(checkedLimit(maxInFlight)),
  };
}

function checkedLimit(maxInFlight: number): number {
  if (!Number.isInteger(maxInFlight) || maxInFlight < 0 || maxInFlight > MAX_IN_FLIGHT) {
    throw new Error(`maxInFlight is ${maxInFlight}; it has to be an integer from 0 to ${MAX_IN_FLIGHT}`);
  }
  return maxInFlight;
}

/** A fault of the author's `onStatus` is told on the console: it must not stop a stream half-way. */
function guarded(onStatus: (status: WorkerStatus) => void): (status: WorkerStatus) => void {
  return (status) => {
    try {
      onStatus(status);
    } catch (thrown) {
      console.error(`spindle worker: onStatus failed for ${status.kind}: ${messageOf(thrown)}`);
    }
  };
}
