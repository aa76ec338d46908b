import type { Instant, Millis } from '../../core/time.ts';
import { unreachable } from '../../core/unreachable.ts';
import type { Agent } from '../agent/agent.ts';
import { createBackoff } from '../backoff.ts';
import type { StreamEnd } from '../ports.ts';
import { endsReconnecting, SpindleError, statusCode, statusName } from '../spindle-error.ts';
import type { Tool } from '../tool.ts';
import { createHandlers } from './handlers.ts';
import type { Instruction } from './instruction.ts';
import type { WorkerPorts, WorkerStream } from './ports.ts';
import { createWorkerProtocol, type WorkerIdentity } from './protocol.ts';
import type { WorkerStatus } from './status.ts';

export interface DriverOptions {
  readonly identity: WorkerIdentity;
  readonly tools: readonly Tool[];
  readonly agents: readonly Agent[];
  readonly maxInFlight: number;
  /** How long a drain waits for what is held. */
  readonly drainTimeoutMs: Millis;
  readonly tell: (status: WorkerStatus) => void;
}

/** Moves a protocol over streams, time and handlers, from `start` to its end. */
export interface WorkerDriver {
  start(): void;
  /** Drains (5.9). A second call changes nothing. */
  stop(reason: string): void;
  setTools(tools: readonly Tool[]): void;
  setMaxInFlight(maxInFlight: number): void;
}

/** How the driver tells of its beginning and of its end; each is called once at most. */
export interface DriverEvents {
  readonly ready: () => void;
  readonly stopped: () => void;
  readonly failed: (error: SpindleError) => void;
}

const REPLACED =
  'another stream of this process took its place: a fork or a snapshot shares its resume token, which is not supported (5.5)';

export function createWorkerDriver(
  options: DriverOptions,
  ports: WorkerPorts,
  events: DriverEvents,
): WorkerDriver {
  const { clock } = ports;
  const { tell } = options;
  const protocol = createWorkerProtocol(options.identity, options);
  const backoff = createBackoff(ports.random.draw);
  const handlers = createHandlers({
    clock,
    tell,
    spans: ports.spans,
    report(leaseToken, fields) {
      protocol.report(leaseToken, fields);
      flushSoon();
    },
    stream(leaseToken, deltas) {
      protocol.stream(leaseToken, deltas);
      flushSoon();
    },
    end(leaseToken, ending) {
      for (const instruction of protocol.end(leaseToken, ending)) perform(instruction);
      flushSoon();
    },
  });

  let stream: WorkerStream | undefined;
  /** Counts streams, so that a callback of an older one is known and dropped (5.5). */
  let generation = 0;
  let blocked = false;
  let halfClosed = false;
  let flushing = false;
  let over = false;
  let reconnectAt: Instant | undefined;
  let giveUpAt: Instant | undefined;
  let alarm: { readonly at: Instant; readonly disarm: () => void } | undefined;

  function connect(): void {
    reconnectAt = undefined;
    dropStream();
    protocol.open(clock.now());
    const mine = generation;
    const ours = () => mine === generation && !over;
    stream = ports.connect({
      received(response) {
        if (ours()) obey(protocol.receive(response, clock.now()));
      },
      writable() {
        if (!ours()) return;
        blocked = false;
        flush();
      },
      ended(end) {
        if (ours()) ended(end);
      },
    });
    arm();
    flushSoon();
  }

  /** Stops reading the stream, whatever is still under way on it. */
  function dropStream(): void {
    generation += 1;
    stream?.cancel();
    stream = undefined;
    blocked = false;
    halfClosed = false;
    protocol.closed();
  }

  function ended(end: StreamEnd): void {
    // The transport has closed it already.
    stream = undefined;
    dropStream();
    if (protocol.finished()) finish();
    else if (endsReconnecting(end.code)) fail(end);
    else retry(statusName(end.code), end.details);
  }

  function retry(code: string, message: string): void {
    const now = clock.now();
    // A go-away may have named a time already.
    reconnectAt ??= now + backoff.next();
    tell({ kind: 'disconnected', code, message, retryInMs: Math.max(0, reconnectAt - now) });
    arm();
  }

  function obey(instructions: readonly Instruction[]): void {
    for (const instruction of instructions) {
      if (over) return;
      perform(instruction);
    }
    arm();
    flushSoon();
  }

  function perform(instruction: Instruction): void {
    switch (instruction.kind) {
      case 'run':
        handlers.run(instruction);
        break;
      case 'abort':
        handlers.abort(instruction.leaseToken, instruction.reason, instruction.graceMs);
        break;
      case 'lost':
        dropStream();
        retry('UNAVAILABLE', instruction.message);
        break;
      case 'reconnect': {
        const waitMs = instruction.afterMs ?? backoff.next();
        reconnectAt ??= clock.now() + waitMs;
        tell({ kind: 'go_away', reason: instruction.reason, reconnectInMs: waitMs });
        break;
      }
      case 'outlived':
        tell({ kind: 'go_away', reason: instruction.reason, reconnectInMs: 0 });
        break;
      case 'replaced':
        fail({ code: statusCode('ABORTED'), details: REPLACED });
        break;
      case 'status':
        if (instruction.status.kind === 'connected') {
          backoff.reset();
          events.ready();
        }
        tell(instruction.status);
        break;
      default:
        unreachable(instruction);
    }
  }

  /** What becomes ready in one tick goes in as few messages as it fits into (5.2). */
  function flushSoon(): void {
    if (flushing || over) return;
    flushing = true;
    ports.soon(flush);
  }

  function flush(): void {
    flushing = false;
    if (over) return;
    while (stream !== undefined && !blocked && !halfClosed) {
      const message = protocol.next();
      if (message === undefined) break;
      blocked = !stream.send(message);
    }
    if (protocol.finished()) part();
    else arm();
  }

  /** Says good-bye where somebody listens; the engine then ends the stream with OK (5.9). */
  function part(): void {
    if (stream === undefined || !protocol.serving()) {
      finish();
      return;
    }
    if (!halfClosed) stream.halfClose();
    halfClosed = true;
    arm();
  }

  function tick(): void {
    const now = clock.now();
    alarm = undefined;
    if (giveUpAt !== undefined && now >= giveUpAt) {
      handlers.abortAll('shutdown');
      finish();
    } else if (reconnectAt !== undefined && now >= reconnectAt) {
      connect();
    } else if (halfClosed) {
      arm();
    } else {
      obey(protocol.advance(now));
    }
  }

  /** One alarm for everything. It may ring early, which `tick` bears; arming anew for each frame costs more. */
  function arm(): void {
    if (over) return;
    const at = Math.min(
      (halfClosed ? undefined : protocol.wakeup()) ?? Number.POSITIVE_INFINITY,
      reconnectAt ?? Number.POSITIVE_INFINITY,
      giveUpAt ?? Number.POSITIVE_INFINITY,
    );
    if (at === Number.POSITIVE_INFINITY || (alarm !== undefined && alarm.at <= at)) return;
    alarm?.disarm();
    alarm = { at, disarm: clock.alarm(at, tick) };
  }

  function close(): void {
    over = true;
    alarm?.disarm();
    dropStream();
  }

  function finish(): void {
    const unfinished = protocol.held();
    close();
    tell({ kind: 'stopped', unfinished });
    events.stopped();
  }

  function fail(end: StreamEnd): void {
    close();
    // Nobody will take their answers.
    handlers.abortAll('abandoned');
    events.failed(new SpindleError(`the worker cannot serve: ${end.details}`, end));
  }

  return {
    start: connect,
    stop(reason) {
      if (over || giveUpAt !== undefined) return;
      giveUpAt = clock.now() + options.drainTimeoutMs;
      tell({ kind: 'draining', reason });
      protocol.drain(reason);
      arm();
      flushSoon();
    },
    setTools(tools) {
      protocol.setTools(tools);
      flushSoon();
    },
    setMaxInFlight(maxInFlight) {
      protocol.setMaxInFlight(maxInFlight);
      flushSoon();
    },
  };
}
