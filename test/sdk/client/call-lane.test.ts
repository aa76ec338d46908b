import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallUpdate,
  type CallUpdateSchema,
  StreamCallsRequestSchema,
  type StreamCallsResponse,
  StreamCallsResponseSchema,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import { createCallLane, type LaneOptions } from '../../../src/sdk/client/call-lane.ts';
import type { DuplexListener } from '../../../src/sdk/grpc/stream.ts';
import type { SpindleError } from '../../../src/sdk/spindle-error.ts';
import { createVirtualClock } from '../virtual-world.ts';

const UNAVAILABLE = 14;

interface LaneStream {
  readonly calls: string[];
  readonly cancels: string[];
  readonly batches: number[];
  open: boolean;
  blocked: boolean;
  readonly listener: DuplexListener<StreamCallsResponse>;
  send(...updates: MessageInitShape<typeof CallUpdateSchema>[]): void;
}

function startLane(options: Partial<LaneOptions> = {}, draw: () => number = () => 0.5) {
  const clock = createVirtualClock();
  const streams: LaneStream[] = [];
  let ready: (() => void)[] = [];
  const lane = createCallLane(
    { maxInFlight: 1_000, unavailableAfterMs: 15_000, ...options },
    {
      clock,
      random: { draw, token: () => 'id' },
      soon: (run) => ready.push(run),
      connect(listener) {
        const stream: LaneStream = {
          calls: [],
          cancels: [],
          batches: [],
          open: true,
          blocked: false,
          listener,
          send: (...updates) => listener.received(create(StreamCallsResponseSchema, { updates })),
        };
        streams.push(stream);
        return {
          send(message) {
            const { calls, cancelCallIds } = fromBinary(StreamCallsRequestSchema, message);
            stream.calls.push(...calls.map(({ callId }) => callId));
            stream.cancels.push(...cancelCallIds);
            stream.batches.push(calls.length);
            return !stream.blocked;
          },
          halfClose: () => undefined,
          cancel() {
            stream.open = false;
          },
        };
      },
    },
  );
  const settle = (): void => {
    const now = ready;
    ready = [];
    for (const run of now) run();
  };
  const stream = (): LaneStream => {
    const newest = streams.at(-1);
    if (newest === undefined) throw new Error('no stream has been opened');
    return newest;
  };
  return { lane, clock, streams, stream, settle };
}

function call(callId: string, args = '{}'): CallToolRequest {
  return create(CallToolRequestSchema, { callId, name: 'work', arguments: args });
}

function waiter() {
  const updates: CallUpdate[] = [];
  const errors: SpindleError[] = [];
  return {
    updates,
    errors,
    update: (update: CallUpdate) => updates.push(update),
    fail: (error: SpindleError) => errors.push(error),
  };
}

function finished(callId: string): MessageInitShape<typeof CallUpdateSchema> {
  return { callId, kind: { case: 'finished', value: { callId, attempts: 1 } } };
}

function refused(callId: string, code: string): MessageInitShape<typeof CallUpdateSchema> {
  return { callId, kind: { case: 'refused', value: { code, message: `it is ${code}` } } };
}

describe('a lane of calls', () => {
  it('5.2: calls of one tick go in one message, at most 128 in each', () => {
    const { lane, stream, settle } = startLane();
    for (let index = 0; index < 300; index++) lane.add(call(`c${index}`), waiter());
    settle();
    expect(stream().batches).toEqual([128, 128, 44]);
  });

  it('4.12: calls that have not ended are sent again under their ids on the next stream', () => {
    const { lane, clock, streams, stream, settle } = startLane();
    const [a, b] = [waiter(), waiter()];
    lane.add(call('a'), a);
    lane.add(call('b'), b);
    settle();
    stream().send(finished('a'));
    stream().listener.ended({ code: UNAVAILABLE, details: 'gone' });
    clock.advance(250);
    settle();
    expect(streams.map(({ calls }) => calls)).toEqual([['a', 'b'], ['b']]);
    stream().send(finished('b'));
    expect([a.updates.length, b.updates.length, a.errors.length + b.errors.length]).toEqual([1, 1, 0]);
  });

  it('4.12: the same id with the same name and arguments joins, with others it is refused', () => {
    const { lane, stream, settle } = startLane();
    const [first, second] = [waiter(), waiter()];
    lane.add(call('a', '{"x":1}'), first);
    lane.add(call('a', '{"x":1}'), second);
    expect(() => lane.add(call('a', '{"x":2}'), waiter())).toThrow(
      expect.objectContaining({ reason: 'call_id_conflict', code: 'ALREADY_EXISTS' }),
    );
    settle();
    expect(stream().calls).toEqual(['a']);
    stream().send(finished('a'));
    expect([first.updates.length, second.updates.length]).toEqual([1, 1]);
  });

  it('is bounded: above its limit a call is refused, and an end makes room', () => {
    const { lane, stream, settle } = startLane({ maxInFlight: 1 });
    lane.add(call('a'), waiter());
    expect(() => lane.add(call('b'), waiter())).toThrow(expect.objectContaining({ reason: 'overloaded' }));
    settle();
    stream().send(finished('a'));
    lane.add(call('b'), waiter());
    settle();
    expect(stream().calls).toEqual(['a', 'b']);
  });

  it('3.4: a call above what the engine reads is refused before it is sent', () => {
    const { lane } = startLane();
    expect(() => lane.add(call('a', 'x'.repeat(4 * 1_024 * 1_024)), waiter())).toThrow(
      expect.objectContaining({ reason: 'request_too_large' }),
    );
  });

  it('5.10: writes nothing to a blocked stream, and goes on when it is free', () => {
    const { lane, stream, settle } = startLane();
    lane.add(call('a'), waiter());
    stream().blocked = true;
    settle();
    lane.add(call('b'), waiter());
    settle();
    expect(stream().calls).toEqual(['a']);
    stream().blocked = false;
    stream().listener.writable();
    expect(stream().calls).toEqual(['a', 'b']);
  });

  it.each([
    ['call_id_conflict', 'ALREADY_EXISTS'],
    ['overloaded', 'RESOURCE_EXHAUSTED'],
    ['invalid_request', 'INVALID_ARGUMENT'],
  ])('a refusal with %s fails its call alone', (reason, code) => {
    const { lane, stream, settle } = startLane();
    const [a, b] = [waiter(), waiter()];
    lane.add(call('a'), a);
    lane.add(call('b'), b);
    settle();
    stream().send(refused('a', reason));
    expect(a.errors).toMatchObject([{ reason, code, message: `it is ${reason}` }]);
    expect(b.errors).toEqual([]);
  });

  it.each(['shutting_down', 'session_moved'])(
    '%s is no refusal: the call goes to whoever takes the place of the engine',
    (reason) => {
      const { lane, clock, streams, stream, settle } = startLane();
      const a = waiter();
      lane.add(call('a'), a);
      settle();
      stream().send(refused('a', reason));
      expect(streams[0]?.open).toBe(false);
      clock.advance(250);
      settle();
      expect(stream().calls).toEqual(['a']);
      stream().send(finished('a'));
      expect(a.updates).toHaveLength(1);
    },
  );

  it.each([16, 7, 3, 12])('status %i fails what waits at once', (code) => {
    const { lane, stream, settle } = startLane();
    const a = waiter();
    lane.add(call('a'), a);
    settle();
    stream().listener.ended({ code, details: 'no', reason: 'protocol_error' });
    expect(a.errors).toMatchObject([{ reason: 'protocol_error', message: 'no' }]);
  });

  it('an engine that is out of reach for 15 s fails what waits, and the next call tries anew', () => {
    const { lane, clock, streams, stream, settle } = startLane({}, () => 0.999_999);
    const a = waiter();
    lane.add(call('a'), a);
    settle();
    for (let failures = 0; failures < 10 && a.errors.length === 0; failures++) {
      stream().listener.ended({ code: UNAVAILABLE, details: 'connection refused' });
      clock.advance(8_000);
    }
    expect(a.errors).toMatchObject([
      { code: 'UNAVAILABLE', message: expect.stringContaining('connection refused') },
    ]);
    const before = streams.length;
    lane.add(call('b'), waiter());
    settle();
    expect(streams).toHaveLength(before + 1);
    expect(stream().calls).toEqual(['b']);
  });

  it('a connection that is never made fails what waits after 15 s; one that is made waits on', () => {
    const hung = startLane();
    const a = waiter();
    hung.lane.add(call('a'), a);
    hung.clock.advance(15_000);
    expect(a.errors).toMatchObject([{ code: 'UNAVAILABLE' }]);
    const made = startLane();
    const b = waiter();
    made.lane.add(call('b'), b);
    made.stream().listener.connected?.();
    made.clock.advance(3_600_000);
    expect(b.errors).toEqual([]);
    made.stream().listener.ended({ code: UNAVAILABLE, details: 'gone' });
    made.clock.advance(250);
    made.settle();
    expect(made.stream().calls).toEqual(['b']);
  });

  it('gives its stream back after 5 s without a call', () => {
    const { lane, clock, streams, stream, settle } = startLane();
    lane.add(call('a'), waiter());
    settle();
    stream().send(finished('a'));
    clock.advance(4_999);
    lane.add(call('b'), waiter());
    settle();
    clock.advance(60_000);
    expect(streams).toHaveLength(1);
    stream().send(finished('b'));
    clock.advance(5_000);
    expect(stream().open).toBe(false);
    lane.add(call('c'), waiter());
    settle();
    expect(streams).toHaveLength(2);
  });

  it('4.10: a wait that ends leaves the call; a cancel is sent, and sent again after a reconnect', () => {
    const { lane, clock, stream, settle } = startLane();
    const [left, stopped] = [waiter(), waiter()];
    lane.add(call('left'), left);
    lane.add(call('stopped'), stopped);
    settle();
    lane.leave('left', left);
    lane.cancel('stopped');
    lane.leave('stopped', stopped);
    settle();
    expect(stream().cancels).toEqual(['stopped']);
    stream().listener.ended({ code: UNAVAILABLE, details: 'gone' });
    clock.advance(250);
    settle();
    expect(stream()).toMatchObject({ calls: ['stopped'], cancels: ['stopped'] });
  });

  it('4.12: whoever asks again for a call whose wait has ended joins it on its stream', () => {
    const { lane, clock, stream, settle } = startLane();
    const [early, late] = [waiter(), waiter()];
    lane.add(call('a'), early);
    settle();
    lane.leave('a', early);
    clock.advance(4_000);
    lane.add(call('a'), late);
    settle();
    expect(stream().calls).toEqual(['a']);
    stream().send(finished('a'));
    expect([early.updates.length, late.updates.length]).toEqual([0, 1]);
    clock.advance(5_000);
    expect(stream().open).toBe(false);
  });

  it('a connection that hangs is noticed by a call that came while nobody waited', () => {
    const { lane, clock } = startLane({ unavailableAfterMs: 3_000 });
    const [early, late] = [waiter(), waiter()];
    lane.add(call('a'), early);
    lane.leave('a', early);
    lane.add(call('b'), late);
    clock.advance(3_000);
    expect(late.errors).toMatchObject([{ code: 'UNAVAILABLE' }]);
  });

  it('closing fails what waits, and what comes later', () => {
    const { lane, stream } = startLane();
    const a = waiter();
    lane.add(call('a'), a);
    lane.close();
    expect(a.errors).toMatchObject([{ reason: 'client_closed' }]);
    expect(stream().open).toBe(false);
    expect(() => lane.add(call('b'), waiter())).toThrow(expect.objectContaining({ reason: 'client_closed' }));
  });
});
