import { create } from '@bufbuild/protobuf';
import { DrainReplySchema } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { within } from '../deadline.ts';
import { EXIT_TIMEOUT_MS } from '../limits.ts';
import { expectEqual, type Rule } from '../rule.ts';
import { cancelFrame, heldIn, textOf } from './answers.ts';

export const DRAIN_RULES: readonly Rule[] = [
  {
    section: '5.9',
    title: 'SIGTERM drains: held work is finished, then the worker leaves with 0',
    async check(bench) {
      const serving = await bench.serving();
      const { stream, dispatch } = serving;
      const running = dispatch('slow', '{"ms":1000}');
      await heldIn(serving, running);
      bench.process.signal('SIGTERM');
      await stream.next('drain', 'a drain');
      // What was reserved before the drain still comes. The worker may run it or give it back, but not forget it.
      const reserved = dispatch('slow', '{"ms":100}');
      stream.send({ case: 'drainReply', value: create(DrainReplySchema) });
      await stream.over(reserved);
      expectEqual('the running call', textOf(await stream.answer(running)), 'slept 1000');
      const ended = await within(EXIT_TIMEOUT_MS, 'a half-close', stream.ended, () => 'an open stream');
      expectEqual('how the worker ends the stream', ended, 'half_closed');
      stream.end();
      expectEqual('the exit code', await bench.process.exit('the end of the process'), 0);
    },
  },
  {
    section: '5.9',
    title: 'a draining worker that reconnects says so',
    async check(bench) {
      const serving = await bench.serving();
      const { stream, dispatch } = serving;
      const running = dispatch('slow', '{"ms":3000}');
      const stopped = dispatch('slow', '{"ms":60000}');
      await heldIn(serving, stopped);
      bench.process.signal('SIGTERM');
      await stream.next('drain', 'a drain');
      stream.send({ case: 'drainReply', value: create(DrainReplySchema) }, cancelFrame(stopped));
      // Frames are read in order: with this answer, the worker knows that its drain is confirmed.
      await stream.answer(stopped);
      bench.cut();
      const next = await bench.serving();
      expectEqual('draining in the hello', next.hello.draining, true);
      expectEqual('the running call', textOf(await next.stream.answer(running)), 'slept 3000');
    },
  },
];
