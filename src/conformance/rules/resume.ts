import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import type { Hello, Welcome } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { expectEqual, expectThat, type Rule } from '../rule.ts';
import { saying } from '../stream.ts';
import { CRASH_EXIT_CODE } from '../tools.ts';
import { heldIn, textOf } from './answers.ts';

export const RESUME_RULES: readonly Rule[] = [
  {
    section: '5.5',
    title: 'a stream cut before the answer: the same process resumes, and answers',
    async check(bench) {
      const serving = await bench.serving();
      const lease = serving.dispatch('slow', '{"ms":1500}');
      await heldIn(serving, lease);
      bench.cut();
      const next = await bench.serving();
      expectResumes(next.hello, serving);
      expectEqual('held', held(next.hello), [lease]);
      expectEqual('the text', textOf(await next.stream.answer(lease)), 'slept 1500');
    },
  },
  {
    section: '5.5',
    title: 'a stream cut while the handler works: the answer is kept and follows',
    async check(bench) {
      const serving = await bench.serving();
      const lease = serving.dispatch('slow', '{"ms":400}');
      await heldIn(serving, lease);
      bench.cut();
      // The handler ends before the worker may speak again.
      const next = await bench.serving({ welcomeAfterMs: 600 });
      expectResumes(next.hello, serving);
      expectEqual('held', held(next.hello), [lease]);
      expectEqual('the text', textOf(await next.stream.answer(lease)), 'slept 400');
    },
  },
  {
    section: '5.7',
    title: 'a stream cut before the acknowledgement: the answer is sent again',
    async check(bench) {
      const serving = await bench.serving();
      const lease = serving.dispatch('add', '{"a":1,"b":2}');
      const first = await serving.stream.answer(lease, { acknowledge: false });
      bench.cut();
      const next = await bench.serving();
      expectEqual(
        'held',
        next.hello.held.map(({ leaseToken, answered }) => [leaseToken, answered]),
        [[lease, true]],
      );
      const again = await next.stream.answer(lease, { acknowledge: AnswerVerdict.DUPLICATE });
      expectEqual('the answer again', again.outcome, first.outcome);
    },
  },
  ...(['RECORDED', 'DUPLICATE', 'STALE', 'REFUSED'] as const).map(
    (name): Rule => ({
      section: '5.7',
      title: `the verdict ${name.toLowerCase()} ends the duty to resend`,
      async check(bench) {
        const serving = await bench.serving();
        const lease = serving.dispatch('add', '{"a":1,"b":2}');
        await serving.stream.answer(lease, { acknowledge: AnswerVerdict[name] });
        await serving.stream.next(
          'heartbeat',
          'a heartbeat after the verdict',
          (beat) => beat.receivedThrough === 1 && !beat.held.includes(lease),
        );
        bench.cut();
        expectEqual('held', held(await (await bench.connection()).hello()), []);
      },
    }),
  ),
  {
    section: '5.5',
    title: 'what comes on an older stream after the cut is never started twice',
    async check(bench) {
      const serving = await bench.serving();
      const lease = serving.dispatch('slow', '{"ms":300}');
      bench.cut();
      const next = await bench.serving();
      // Read before the cut or not: either it is named and answered, or it was discarded and is silent.
      if (!held(next.hello).includes(lease)) {
        const other = next.dispatch('slow', '{"ms":600}');
        await next.stream.answer(other);
        const late = next.stream.taken('answer', (answer) => answer.leaseToken === lease);
        expectThat(late === undefined, 'no answer to a dispatch that was discarded', 'one');
        return;
      }
      expectEqual('the text', textOf(await next.stream.answer(lease)), 'slept 300');
    },
  },
  {
    section: '5.7',
    title: 'a lease that the welcome abandons is stopped, and still answered',
    async check(bench) {
      const serving = await bench.serving();
      const lease = serving.dispatch('slow', '{"ms":60000}');
      await heldIn(serving, lease);
      bench.cut();
      const next = await bench.serving({ abandon: [lease] });
      const answer = await next.stream.answer(lease, { acknowledge: AnswerVerdict.STALE });
      expectThat(answer.outcome.case === 'cancelled', 'cancelled', saying(answer));
    },
  },
  {
    section: '4.6',
    title: 'a process that dies takes its name with it',
    async check(bench) {
      const serving = await bench.serving();
      serving.dispatch('crash', '{"how":"exit"}');
      expectEqual('the exit code', await bench.process.exit('the end of the process'), CRASH_EXIT_CODE);
      expectThat(!serving.stream.received.some(({ kind }) => kind.case === 'answer'), 'no answer', 'one');
    },
  },
];

function held(hello: Hello): string[] {
  return hello.held.map(({ leaseToken }) => leaseToken);
}

function expectResumes(hello: Hello, before: { readonly hello: Hello; readonly welcome: Welcome }): void {
  expectEqual('the instance', hello.instanceId, before.hello.instanceId);
  expectEqual('the resume token', hello.resumeToken, before.welcome.resumeToken);
  expectThat(
    hello.streamNumber > before.hello.streamNumber,
    `a stream number above ${before.hello.streamNumber}`,
    String(hello.streamNumber),
  );
}
