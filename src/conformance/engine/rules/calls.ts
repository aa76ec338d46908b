import { status } from '@grpc/grpc-js';
import { AnswerVerdict } from '../../../../gen/spindle/v1/result_pb.ts';
import { ToolService } from '../../../../gen/spindle/v1/tool_service_pb.ts';
import { pass } from '../../deadline.ts';
import { ENGINE_QUIET_MS } from '../../limits.ts';
import { expectEqual, expectThat, show } from '../../rule.ts';
import { VALUES } from '../../tools.ts';
import { type EngineRule, execute, expectRefused, failureOf, OK, resultOf } from '../rule.ts';

export const CALL_RULES: readonly EngineRule[] = [
  {
    section: '1.1',
    title: 'arguments reach the worker byte for byte',
    async check(peer) {
      const stream = await peer.serving();
      for (const text of VALUES) {
        const call = peer.call(text);
        const dispatch = await stream.dispatch();
        expectThat(
          execute(dispatch).arguments === text,
          text.slice(0, 120),
          execute(dispatch).arguments.slice(0, 120),
        );
        await stream.answer(dispatch.leaseToken, { case: 'valueJson', value: text });
        const [block] = resultOf(await call)?.content ?? [];
        const came = block?.kind.case === 'text' ? block.kind.value.text : '';
        expectThat(came === text, text.slice(0, 120), came.slice(0, 120));
      }
    },
  },
  {
    section: '1.2',
    title: 'invalid arguments come with a proposal, which may be accepted',
    async check(peer) {
      const schema = '{"type":"object","required":["city"]}';
      const stream = await peer.serving({ tools: [{ tool: { name: peer.tool, inputSchemaJson: schema } }] });
      const call = peer.call('{"secret":"s3cr3t"}');
      const dispatch = await stream.dispatch();
      expectEqual('the verdict', execute(dispatch).input?.status.case, 'invalid');
      expectThat(dispatch.proposed !== undefined, 'a proposal', 'none');
      await stream.answer(dispatch.leaseToken, { case: 'accept', value: {} });
      const failure = failureOf(await call);
      expectEqual('the code', failure?.code, 'invalid_arguments');
      expectThat(
        failure?.message.includes('s3cr3t') === false,
        'no value in the message',
        show(failure?.message),
      );
    },
  },
  {
    section: '5.4',
    title: 'a worker never has more dispatches than its limit',
    async check(peer) {
      const stream = await peer.serving({ maxInFlight: 2 });
      const calls = Array.from({ length: 6 }, () => peer.call('{}'));
      const held: string[] = [];
      for (let done = 0; done < calls.length; ) {
        held.push((await stream.dispatch()).leaseToken);
        if (held.length < 2 && done + held.length < calls.length) continue;
        await pass(ENGINE_QUIET_MS / 3);
        expectThat(stream.taken('dispatch') === undefined, 'no third dispatch', 'one');
        await stream.answer(held.shift() ?? '', OK);
        done++;
        if (done + held.length >= calls.length) {
          for (const lease of held.splice(0)) {
            await stream.answer(lease, OK);
            done++;
          }
        }
      }
      await Promise.all(calls);
    },
  },
  {
    section: '4.3',
    title: 'a rejected dispatch comes again: same attempt, new lease, same key',
    async check(peer) {
      const stream = await peer.serving();
      const call = peer.call('{}');
      const first = await stream.dispatch();
      const retryAfter = { seconds: 0n, nanos: 1_000_000 };
      stream.send({ case: 'reject', value: { leaseToken: first.leaseToken, reason: 'not now', retryAfter } });
      const again = await stream.dispatch();
      expectThat(again.leaseToken !== first.leaseToken, 'a new lease', 'the same');
      expectEqual('the attempt', execute(again).attempt, execute(first).attempt);
      expectEqual('the idempotency key', execute(again).idempotencyKey, execute(first).idempotencyKey);
      await stream.answer(again.leaseToken, OK);
      expectEqual('the attempts', (await call).attempts, 1);
    },
  },
  {
    section: '4.2',
    title: 'a retryable failure is tried again, as often as the policy says',
    async check(peer) {
      const stream = await peer.serving();
      const backoff = { seconds: 0n, nanos: 1_000_000 };
      const call = peer.call('{}', {
        retry: { maxAttempts: 3, initialBackoff: backoff, maxBackoff: backoff },
      });
      const keys = new Set<string>();
      for (const attempt of [1, 2, 3]) {
        const dispatch = await stream.dispatch();
        expectEqual('the attempt', execute(dispatch).attempt, attempt);
        keys.add(execute(dispatch).idempotencyKey);
        await stream.answer(dispatch.leaseToken, {
          case: 'error',
          value: { code: 'busy', message: 'busy', retryable: true },
        });
      }
      const end = await call;
      expectEqual('code and attempts', [failureOf(end)?.code, end.attempts], ['busy', 3]);
      expectEqual('the number of keys', keys.size, 1);
    },
  },
  {
    section: '4.4',
    title: 'the run timeout ends the attempt, and the worker is told',
    async check(peer) {
      const stream = await peer.serving();
      const call = peer.call('{}', { retry: { runTimeout: { seconds: 0n, nanos: 200_000_000 } } });
      const { leaseToken } = await stream.dispatch();
      const cancel = await stream.next('cancel', 'a cancel');
      expectEqual('the lease', cancel.leaseToken, leaseToken);
      const failure = failureOf(await call);
      expectEqual('code and effect', [failure?.code, failure?.mayHaveTakenEffect], ['run_timeout', true]);
      const { verdict } = await stream.answer(leaseToken, { case: 'cancelled', value: {} });
      expectEqual('the verdict of the late answer', verdict, AnswerVerdict.STALE);
    },
  },
  {
    section: '4.10',
    title: 'a cancelled call ends, and its worker is told',
    async check(peer) {
      const stream = await peer.serving();
      const callId = `${peer.tool}-cancel`;
      const call = peer.call('{}', { callId });
      const { leaseToken } = await stream.dispatch();
      await peer.unary(ToolService.method.cancelCall, { callId, reason: 'enough' });
      expectEqual('the code', failureOf(await call)?.code, 'cancelled');
      expectEqual('the lease', (await stream.next('cancel', 'a cancel')).leaseToken, leaseToken);
    },
  },
  {
    section: '4.12',
    title: 'a call id used again joins its call, or is refused',
    async check(peer) {
      const stream = await peer.serving();
      const callId = `${peer.tool}-join`;
      const calls = [peer.call('{"n":1}', { callId }), peer.call('{"n":1}', { callId })];
      const { leaseToken } = await stream.dispatch();
      await stream.answer(leaseToken, OK);
      const ends = await Promise.all([...calls, peer.call('{"n":1}', { callId })]);
      expectEqual('three ends that are one', new Set(ends.map((end) => show(end))).size, 1);
      expectThat(stream.taken('dispatch') === undefined, 'no second dispatch', 'one');
      await expectRefused(peer.call('{"n":2}', { callId }), status.ALREADY_EXISTS);
    },
  },
];
