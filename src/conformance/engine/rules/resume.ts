import { AnswerVerdict } from '../../../../gen/spindle/v1/result_pb.ts';
import { expectEqual, expectThat } from '../../rule.ts';
import { type EngineRule, execute, failureOf, OK } from '../rule.ts';

export const RESUME_RULES: readonly EngineRule[] = [
  {
    section: '5.5',
    title: 'the holder of the resume token keeps what it holds',
    async check(peer) {
      const stream = peer.connect();
      const { resumeToken } = await stream.greet();
      stream.beat();
      const call = peer.call('{}');
      const { leaseToken } = await stream.dispatch();
      stream.cut();
      const next = peer.connect();
      const welcome = await next.greet({ resumeToken, held: [{ leaseToken, answered: true }] });
      expectEqual('abandon', welcome.abandon, []);
      next.beat(0, [leaseToken]);
      expectEqual('the verdict', (await next.answer(leaseToken, OK)).verdict, AnswerVerdict.RECORDED);
      expectEqual('the attempts', (await call).attempts, 1);
    },
  },
  {
    section: '5.6',
    title: 'what the hello does not name was never started, and comes again uncharged',
    async check(peer) {
      const stream = peer.connect();
      const { resumeToken } = await stream.greet();
      stream.beat();
      const call = peer.call('{}');
      const first = await stream.dispatch();
      stream.cut();
      const next = peer.connect();
      await next.greet({ resumeToken });
      next.beat();
      const again = await next.dispatch();
      expectThat(again.leaseToken !== first.leaseToken, 'a new lease', 'the same');
      expectEqual('the sequence on the new stream', again.sequence, 1);
      expectEqual('the attempt', execute(again).attempt, 1);
      await next.answer(again.leaseToken, OK);
      await call;
    },
  },
  {
    section: '4.6',
    title: 'without the resume token it is a new process, and the call is lost',
    async check(peer) {
      const stream = await peer.serving();
      const call = peer.call('{}');
      const { leaseToken } = await stream.dispatch();
      stream.cut();
      const next = peer.connect();
      await next.greet({ held: [{ leaseToken }] });
      const failure = failureOf(await call);
      expectEqual('code and effect', [failure?.code, failure?.mayHaveTakenEffect], ['outcome_unknown', true]);
    },
  },
  {
    section: '5.6',
    title: 'a dispatch that a heartbeat has read and does not hold is lost',
    async check(peer) {
      const stream = await peer.serving();
      const call = peer.call('{}');
      const { sequence } = await stream.dispatch();
      stream.beat(sequence, []);
      expectEqual('the code', failureOf(await call)?.code, 'outcome_unknown');
    },
  },
];
