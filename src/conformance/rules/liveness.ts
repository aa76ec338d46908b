import { create } from '@bufbuild/protobuf';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import {
  ConnectResponseSchema,
  DispatchSchema,
  EngineFrameSchema,
  GoAwayReason,
  GoAwaySchema,
  HeartbeatReplySchema,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import { refused } from '../../core/refusal.ts';
import { duration } from '../../core/time.ts';
import { pass, within } from '../deadline.ts';
import { FRAME_TIMEOUT_MS, QUIET_MS, SILENCE_MS } from '../limits.ts';
import { expectEqual, expectThat, type Rule } from '../rule.ts';
import { saying } from '../stream.ts';
import { heldIn, jsonOf, textOf } from './answers.ts';

export const LIVENESS_RULES: readonly Rule[] = [
  {
    section: '5.6',
    title: 'heartbeats name what was read and what is held',
    async check(bench) {
      const serving = await bench.serving();
      const { stream, dispatch } = serving;
      const lease = dispatch('slow', '{"ms":1500}');
      const beat = await stream.next(
        'heartbeat',
        'a heartbeat that has read the dispatch',
        (b) => b.receivedThrough === 1,
      );
      expectEqual('held', beat.held, [lease]);
      await stream.answer(lease);
      await stream.next(
        'heartbeat',
        'a heartbeat without the lease after its acknowledgement',
        (b) => b.receivedThrough === 1 && b.held.length === 0,
      );
      const beats = stream.received.flatMap(({ kind }) =>
        kind.case === 'heartbeat' ? [kind.value.sequence] : [],
      );
      expectEqual(
        'sequences that count up',
        beats,
        [...new Set(beats)].sort((a, b) => a - b),
      );
    },
  },
  {
    section: '5.7',
    title: 'a lease that a heartbeat reply abandons is stopped, and still answered',
    async check(bench) {
      const serving = await bench.serving();
      const lease = serving.dispatch('slow', '{"ms":60000}');
      await heldIn(serving, lease);
      const value = create(HeartbeatReplySchema, { sequence: 0, abandon: [lease] });
      serving.stream.send({ case: 'heartbeatReply', value });
      const answer = await serving.stream.answer(lease, { acknowledge: AnswerVerdict.STALE });
      expectThat(answer.outcome.case === 'cancelled', 'cancelled', saying(answer));
    },
  },
  {
    section: '5.12',
    title: 'an unknown trigger is rejected',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const leaseToken = 'unknown-trigger/call:x';
      stream.send({
        case: 'dispatch',
        value: create(DispatchSchema, { leaseToken, sequence: 1, trigger: {} }),
      });
      const reject = await stream.next('reject', 'a reject');
      expectEqual('the lease', reject.leaseToken, leaseToken);
      expectEqual('the next sum', jsonOf(await stream.answer(dispatch('add', '{"a":1,"b":1}'))), '2');
    },
  },
  {
    section: '5.12',
    title: 'unknown frames and fields are ignored',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const future = create(EngineFrameSchema);
      future.$unknown = [{ no: 999, wireType: 2, data: new Uint8Array([3, 1, 2, 3]) }];
      const message = create(ConnectResponseSchema, { frames: [future] });
      message.$unknown = [{ no: 998, wireType: 0, data: new Uint8Array([7]) }];
      stream.write(message);
      expectEqual('the next sum', jsonOf(await stream.answer(dispatch('add', '{"a":2,"b":2}'))), '4');
    },
  },
  {
    section: '5.3',
    title: 'a worker that hears nothing opens a new stream',
    async check(bench) {
      await bench.serving({ answerHeartbeats: false });
      const next = bench.connection();
      const stream = await within(
        SILENCE_MS + FRAME_TIMEOUT_MS,
        'a new stream after the silence',
        next,
        () => 'none',
      );
      expectEqual('the stream number', (await stream.hello()).streamNumber, 2);
    },
  },
  {
    section: '5.3',
    title: 'a worker reconnects when the engine is unavailable',
    async check(bench) {
      const { stream, hello } = await bench.serving();
      stream.end(refused('shutting_down', 'the engine shuts down').refusal);
      const again = await (await bench.connection()).hello();
      expectEqual('the instance', again.instanceId, hello.instanceId);
    },
  },
  {
    section: '5.3',
    title: 'a worker does not reconnect after INVALID_ARGUMENT',
    async check(bench) {
      const { stream } = await bench.serving();
      stream.end(refused('protocol_error', 'no hello of yours will do').refusal);
      await pass(QUIET_MS);
      expectEqual('the number of streams', bench.connections, 1);
    },
  },
  {
    section: '5.3',
    title: 'go-away: the worker reconnects, and finishes what it holds',
    async check(bench) {
      const serving = await bench.serving();
      const lease = serving.dispatch('slow', '{"ms":1500}');
      await heldIn(serving, lease);
      serving.stream.send({ case: 'goAway', value: goAway(GoAwayReason.MAX_AGE) });
      const next = await bench.serving();
      expectEqual(
        'what the new stream holds',
        next.hello.held.map(({ leaseToken }) => leaseToken),
        [lease],
      );
      expectEqual('the text', textOf(await next.stream.answer(lease)), 'slept 1500');
    },
  },
  {
    section: '5.3',
    title: 'go-away: a replaced worker stays away',
    async check(bench) {
      const { stream } = await bench.serving();
      stream.send({ case: 'goAway', value: goAway(GoAwayReason.REPLACED) });
      stream.end();
      await pass(QUIET_MS);
      expectEqual('the number of streams', bench.connections, 1);
    },
  },
];

function goAway(reason: GoAwayReason) {
  return create(GoAwaySchema, { reason, closesAfter: duration(FRAME_TIMEOUT_MS) });
}
