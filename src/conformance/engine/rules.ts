import { status } from '@grpc/grpc-js';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import { type CallToolResponse, ToolService } from '../../../gen/spindle/v1/tool_service_pb.ts';
import type { Dispatch } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { pass, within } from '../deadline.ts';
import { FRAME_TIMEOUT_MS } from '../limits.ts';
import { expectEqual, expectThat, show } from '../rule.ts';
import { VALUES } from '../tools.ts';
import type { Outcome, Peer, RawStream } from './peer.ts';

/** One thing that workers and callers may rely on from an engine. */
export interface EngineRule {
  readonly section: string;
  readonly title: string;
  readonly check: (peer: Peer) => Promise<void>;
}

const OK: Outcome = { case: 'valueJson', value: '"ok"' };
/** Long enough for what must not happen to happen. */
const QUIET_MS = 300;

export const ENGINE_RULES: readonly EngineRule[] = [
  {
    section: '5.1',
    title: 'a stream whose first frame is no hello ends with INVALID_ARGUMENT',
    async check({ connect }) {
      const stream = connect();
      stream.beat();
      await expectStatus(stream, status.INVALID_ARGUMENT);
    },
  },
  {
    section: '5.1',
    title: 'a hello without an instance ends with INVALID_ARGUMENT',
    async check({ connect }) {
      const stream = connect();
      stream.send({ case: 'hello', value: { streamNumber: 1 } });
      await expectStatus(stream, status.INVALID_ARGUMENT);
    },
  },
  {
    section: '5.1',
    title: 'a bad definition is refused by name, and the others serve',
    async check(peer) {
      const stream = peer.connect();
      const bad = { tool: { name: `${peer.tool}_bad`, inputSchemaJson: '{"type":"nonsense"}' } };
      const welcome = await stream.greet({ tools: [bad, { tool: { name: peer.tool } }] });
      expectEqual(
        'the refused tools',
        welcome.refusedTools.map(({ name }) => name),
        [bad.tool.name],
      );
      expectThat((welcome.refusedTools[0]?.reason ?? '') !== '', 'a reason', 'none');
      stream.beat();
      expectEqual('the text', await textOf(peer, stream), 'ok');
    },
  },
  {
    section: '5.1',
    title: 'nothing is dispatched before the first heartbeat',
    async check(peer) {
      const stream = peer.connect();
      await stream.greet();
      const call = peer.call('{}');
      await pass(QUIET_MS);
      expectThat(stream.taken('dispatch') === undefined, 'no dispatch before the heartbeat', 'one');
      stream.beat();
      await stream.answer((await stream.dispatch()).leaseToken, OK);
      await call;
    },
  },
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
        await pass(QUIET_MS / 3);
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

function execute(dispatch: Dispatch) {
  const kind = dispatch.trigger?.kind;
  expectThat(kind?.case === 'toolExecute', 'the trigger tool.execute', String(kind?.case));
  if (kind?.case !== 'toolExecute') throw new Error('unreachable');
  return kind.value;
}

function resultOf({ outcome }: CallToolResponse) {
  return outcome.case === 'result' ? outcome.value : undefined;
}

function failureOf({ outcome }: CallToolResponse) {
  return outcome.case === 'error' ? outcome.value : undefined;
}

async function textOf(peer: Peer, stream: RawStream): Promise<string> {
  const call = peer.call('{}');
  await stream.answer((await stream.dispatch()).leaseToken, OK);
  const [block] = resultOf(await call)?.content ?? [];
  return block?.kind.case === 'text' ? block.kind.value.text : '';
}

async function expectStatus(stream: RawStream, code: number): Promise<void> {
  const ended = await within(
    FRAME_TIMEOUT_MS,
    `status ${status[code]}`,
    stream.status,
    () => 'an open stream',
  );
  expectEqual('the status', status[ended.code], status[code]);
}

async function expectRefused(request: Promise<unknown>, code: number): Promise<void> {
  const refused: unknown = await request.then(
    () => undefined,
    (error: unknown) => error,
  );
  const came = refused instanceof Error && 'code' in refused ? status[Number(refused.code)] : 'an answer';
  expectEqual('the status', came, status[code]);
}
