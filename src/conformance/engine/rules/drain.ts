import { status } from '@grpc/grpc-js';
import { AnswerVerdict } from '../../../../gen/spindle/v1/result_pb.ts';
import { expectEqual } from '../../rule.ts';
import { type EngineRule, expectStatus, OK } from '../rule.ts';

export const DRAIN_RULES: readonly EngineRule[] = [
  {
    section: '5.9',
    title: 'a drain is confirmed, held work is finished, and the stream ends with OK',
    async check(peer) {
      const stream = await peer.serving();
      const call = peer.call('{}');
      const { leaseToken } = await stream.dispatch();
      stream.send({ case: 'drain', value: {} });
      await stream.next('drainReply', 'a drain reply');
      expectEqual('the verdict', (await stream.answer(leaseToken, OK)).verdict, AnswerVerdict.RECORDED);
      await call;
      stream.halfClose();
      await expectStatus(stream, status.OK);
    },
  },
];
