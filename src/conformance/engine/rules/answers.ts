import { AnswerVerdict } from '../../../../gen/spindle/v1/result_pb.ts';
import { ToolService } from '../../../../gen/spindle/v1/tool_service_pb.ts';
import { expectEqual } from '../../rule.ts';
import { type EngineRule, failureOf, OK, resultOf, textOf } from '../rule.ts';

export const ANSWER_RULES: readonly EngineRule[] = [
  {
    section: '5.7',
    title: 'an answer that comes twice is recorded once',
    async check(peer) {
      const stream = await peer.serving();
      const call = peer.call('{}');
      const { leaseToken } = await stream.dispatch();
      expectEqual('the first verdict', (await stream.answer(leaseToken, OK)).verdict, AnswerVerdict.RECORDED);
      const again = await stream.answer(leaseToken, { case: 'valueJson', value: '"other"' });
      expectEqual('the second verdict', again.verdict, AnswerVerdict.DUPLICATE);
      expectEqual('the end', resultOf(await call)?.content.length, 1);
    },
  },
  {
    section: '5.7',
    title: 'an answer for a lease that nobody knows is stale',
    async check(peer) {
      const stream = await peer.serving();
      for (const lease of ['nobody/call:nothing', '', 'no-slash']) {
        expectEqual('the verdict', (await stream.answer(lease, OK)).verdict, AnswerVerdict.STALE);
      }
      expectEqual('the next call', await textOf(peer, stream), 'ok');
    },
  },
  {
    section: '5.12',
    title: 'an answer without an outcome ends the attempt with invalid_answer',
    async check(peer) {
      const stream = await peer.serving();
      const call = peer.call('{}');
      const { leaseToken } = await stream.dispatch();
      stream.send({ case: 'answer', value: { leaseToken } });
      const { verdict } = await stream.next('acknowledge', 'an acknowledgement');
      expectEqual('the verdict', verdict, AnswerVerdict.REFUSED);
      expectEqual('the code', failureOf(await call)?.code, 'invalid_answer');
    },
  },
  {
    section: '3.2',
    title: 'a result that breaks its output schema never reaches the caller',
    async check(peer) {
      const tools = [{ tool: { name: peer.tool, outputSchemaJson: '{"type":"integer"}' } }];
      const stream = await peer.serving({ tools });
      const call = peer.call('{}');
      const { verdict } = await stream.answer((await stream.dispatch()).leaseToken, OK);
      expectEqual('the verdict', verdict, AnswerVerdict.REFUSED);
      expectEqual('the code', failureOf(await call)?.code, 'invalid_output');
    },
  },
  {
    section: '4.9',
    title: 'a deferred call is open until somebody settles it',
    async check(peer) {
      const stream = await peer.serving();
      const callId = `${peer.tool}-defer`;
      const call = peer.call('{}', { callId });
      await stream.answer((await stream.dispatch()).leaseToken, { case: 'toolDefer', value: {} });
      const content = [{ kind: { case: 'text' as const, value: { text: 'later' } } }];
      const outcome = { case: 'result' as const, value: { content } };
      const settled = await peer.unary(ToolService.method.settleCall, { callId, outcome });
      expectEqual('the verdict', settled.verdict, AnswerVerdict.RECORDED);
      const [block] = resultOf(await call)?.content ?? [];
      expectEqual('the text', block?.kind.case === 'text' && block.kind.value.text, 'later');
    },
  },
];
