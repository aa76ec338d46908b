import { toBinary } from '@bufbuild/protobuf';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallUpdate,
  type StreamCallsResponse,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import { CLIENT_IDLE_MS, MAX_MESSAGE_BYTES, MESSAGE_OVERHEAD_BYTES } from '../../core/limits.ts';
import type { Instant, Millis } from '../../core/time.ts';
import { createBackoff } from '../backoff.ts';
import type { Duplex, DuplexListener } from '../grpc/stream.ts';
import type { SdkClock, SdkRandom, StreamEnd } from '../ports.ts';
import { endsReconnecting, SpindleError, statusCode } from '../spindle-error.ts';
import { createCallOutbox } from './call-outbox.ts';
import { refusalStatus } from './refusal-status.ts';
import { createWaitingCalls, type Waiter, type WaitingCall } from './waiting-calls.ts';

export interface LanePorts {
  readonly clock: SdkClock;
  readonly random: SdkRandom;
  readonly soon: (run: () => void) => void;
  readonly connect: (listener: DuplexListener<StreamCallsResponse>) => Duplex;
}

/**
 * Carries every call of a client on one stream. A call that has not ended is sent again, under its id, on
 * each new stream: that joins it (4.12), so a broken connection loses and repeats nothing.
 */
export interface CallLane {
  /** Throws a SpindleError where the limit is reached, the id is another call's, or the call is too large. */
  add(request: CallToolRequest, waiter: Waiter): void;
  /** Ends a wait, never the call (4.10). */
  leave(callId: string, waiter: Waiter): void;
  cancel(callId: string): void;
  close(): void;
}

export interface LaneOptions {
  readonly maxInFlight: number;
  /** How long an engine may be out of reach before the calls that wait for it fail. */
  readonly unavailableAfterMs: Millis;
}

export function createCallLane(options: LaneOptions, ports: LanePorts): CallLane {
  const { clock } = ports;
  const calls = createWaitingCalls();
  const outbox = createCallOutbox();
  const backoff = createBackoff(ports.random.draw);
  let stream: Duplex | undefined;
  let generation = 0;
  let blocked = false;
  let flushing = false;
  let closed = false;
  let connected = false;
  let openedAt: Instant = 0;
  /** Since when nothing has been heard of the engine, while somebody waits for it. */
  let outageSince: Instant | undefined;
  /** How the last stream ended, for whoever hears that the engine is out of reach. */
  let lastEnd = 'the connection was not made in time';
  let disarm = (): void => undefined;

  function connect(): void {
    drop();
    openedAt = clock.now();
    outageSince ??= openedAt;
    const mine = generation;
    const ours = () => mine === generation;
    stream = ports.connect({
      received(response) {
        if (ours()) received(response);
      },
      writable() {
        if (!ours()) return;
        blocked = false;
        flush();
      },
      connected() {
        if (ours()) connected = true;
      },
      ended(end) {
        if (ours()) ended(end);
      },
    });
    for (const { request, encoded, cancelled } of calls) {
      outbox.call(encoded);
      if (cancelled) outbox.cancel(request.callId);
    }
    flushSoon();
    watchOutage();
  }

  /** A connection attempt may hang, and then nothing but time ends the wait for it. */
  function watchOutage(): void {
    rearm((outageSince ?? clock.now()) + options.unavailableAfterMs, () => {
      if (outageSince !== undefined && !connected) unavailable();
    });
  }

  function rearm(at: Instant, ring: () => void): void {
    disarm();
    disarm = clock.alarm(at, ring);
  }

  function drop(): void {
    disarm();
    generation += 1;
    stream?.cancel();
    stream = undefined;
    blocked = false;
    connected = false;
    outbox.clear();
    calls.sweep();
  }

  function received(response: StreamCallsResponse): void {
    for (const update of response.updates) if (!isParting(update)) deliver(update);
    const parting = response.updates.find(isParting);
    if (parting?.kind.case === 'refused') {
      // The engine that takes its place makes the call, or joins it.
      retry({ code: statusCode('UNAVAILABLE'), details: parting.kind.value.message });
      return;
    }
    outageSince = undefined;
    disarm();
    backoff.reset();
    if (!calls.awaited()) rest();
  }

  /** Nobody waits: the stream may be needed again soon, and goes if it is not. */
  function rest(): void {
    if (stream === undefined) drop();
    else rearm(clock.now() + CLIENT_IDLE_MS, drop);
  }

  function deliver(update: CallUpdate): void {
    const call = calls.get(update.callId);
    if (call === undefined) return;
    if (update.kind.case === 'refused') {
      const { code, message } = update.kind.value;
      calls.forget(call);
      const end = { code: refusalStatus(code), reason: code, metadata: { call_id: update.callId } };
      for (const waiter of call.waiters) waiter.fail(new SpindleError(message, end));
      return;
    }
    if (update.kind.case === 'finished') calls.forget(call);
    for (const waiter of call.waiters) waiter.update(update);
  }

  function ended(end: StreamEnd): void {
    stream = undefined;
    // It was there for as long as an outage may last: what comes now is another outage.
    if (connected && clock.now() - openedAt >= options.unavailableAfterMs) outageSince = undefined;
    if (!calls.awaited()) drop();
    else if (endsReconnecting(end.code)) failAll(() => new SpindleError(end.details, end));
    else retry(end);
  }

  function retry(end: StreamEnd): void {
    drop();
    lastEnd = end.details;
    const now = clock.now();
    outageSince ??= now;
    const at = now + backoff.next();
    if (at - outageSince >= options.unavailableAfterMs) unavailable();
    else rearm(at, connect);
  }

  function unavailable(): void {
    const why = `the engine is out of reach (${lastEnd})`;
    failAll(({ request: { callId } }) => {
      const end = { code: statusCode('UNAVAILABLE'), metadata: { call_id: callId } };
      return new SpindleError(`${why}; call ${callId} may go on: read it by this id`, end);
    });
  }

  function failAll(errorFor: (call: WaitingCall) => SpindleError): void {
    drop();
    outageSince = undefined;
    backoff.reset();
    for (const call of [...calls]) {
      calls.forget(call);
      const error = errorFor(call);
      for (const waiter of call.waiters) waiter.fail(error);
    }
  }

  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    ports.soon(flush);
  }

  function flush(): void {
    flushing = false;
    while (stream !== undefined && !blocked) {
      const message = outbox.next();
      if (message === undefined) return;
      blocked = !stream.send(message);
    }
  }

  function join(call: WaitingCall, request: CallToolRequest, waiter: Waiter): void {
    if (call.request.name !== request.name || call.request.arguments !== request.arguments) {
      const { callId } = request;
      throw refusal(
        'ALREADY_EXISTS',
        'call_id_conflict',
        `call ${callId} has another name or other arguments`,
      );
    }
    calls.attach(call, waiter);
  }

  return {
    add(request, waiter) {
      if (closed) throw refusal('CANCELLED', 'client_closed', 'the client is closed');
      const call = calls.get(request.callId);
      if (call !== undefined) {
        join(call, request, waiter);
        return;
      }
      if (calls.size >= options.maxInFlight) {
        throw refusal(
          'RESOURCE_EXHAUSTED',
          'overloaded',
          `this client waits for ${calls.size} calls, which is its limit: wait for some of them`,
        );
      }
      const encoded = toBinary(CallToolRequestSchema, request);
      if (encoded.length + MESSAGE_OVERHEAD_BYTES > MAX_MESSAGE_BYTES) {
        throw refusal('RESOURCE_EXHAUSTED', 'request_too_large', `the call has ${encoded.length} bytes`);
      }
      const idle = !calls.awaited();
      calls.add(request, encoded, waiter);
      if (stream !== undefined) {
        if (idle && outageSince === undefined) disarm();
        else if (idle) watchOutage();
        outbox.call(encoded);
        flushSoon();
      } else if (idle) {
        connect();
      }
    },
    leave(callId, waiter) {
      const call = calls.get(callId);
      if (call === undefined) return;
      calls.detach(call, waiter);
      if (!calls.awaited()) rest();
    },
    cancel(callId) {
      const call = calls.get(callId);
      if (call === undefined) return;
      calls.stop(call);
      if (stream === undefined) return;
      outbox.cancel(callId);
      flushSoon();
    },
    close() {
      closed = true;
      failAll(() =>
        refusal('CANCELLED', 'client_closed', 'the client was closed while it waited for the call'),
      );
    },
  };
}

/** The engine goes away, or the call has gone to another one: no word about the call itself. */
function isParting({ kind }: CallUpdate): boolean {
  return (
    kind.case === 'refused' && (kind.value.code === 'shutting_down' || kind.value.code === 'session_moved')
  );
}

function refusal(code: Parameters<typeof statusCode>[0], reason: string, message: string): SpindleError {
  return new SpindleError(message, { code: statusCode(code), reason });
}
