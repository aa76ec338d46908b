import { create } from '@bufbuild/protobuf';
import { DecisionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import { ToolInputSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import type { Answer } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { millisOf } from '../../core/time.ts';
import type { Serving } from '../bench.ts';
import { pass } from '../deadline.ts';
import { FRAME_TIMEOUT_MS, HEARTBEAT_MS } from '../limits.ts';
import { expectEqual, expectThat, type Rule } from '../rule.ts';
import { saying } from '../stream.ts';
import { MIN_IN_FLIGHT, PIXEL_PNG_BASE64, VALUES } from '../tools.ts';

const PROPOSED = create(DecisionSchema, {
  actions: [
    {
      kind: {
        case: 'toolError',
        value: { error: { code: 'invalid_arguments', message: 'Correct the arguments.' } },
      },
    },
  ],
});

export const ANSWER_RULES: readonly Rule[] = [
  {
    section: '5.12',
    title: 'every dispatch is answered once',
    async check(bench) {
      const serving = await bench.serving();
      const waves = 3;
      for (let wave = 0; wave < waves; wave++) {
        // No more at once than a worker has to take (5.4).
        const leases = Array.from({ length: MIN_IN_FLIGHT }, (_, n) =>
          serving.dispatch('add', JSON.stringify({ a: n, b: wave })),
        );
        for (const [n, lease] of leases.entries()) {
          const sum = jsonOf(await serving.stream.answer(lease));
          expectEqual(`the sum of ${n} and ${wave}`, sum, String(n + wave));
        }
      }
      await pass(HEARTBEAT_MS * 2);
      const answers = serving.stream.received.filter(({ kind }) => kind.case === 'answer').length;
      expectEqual('the number of answers', answers, waves * MIN_IN_FLIGHT);
    },
  },
  {
    section: '5.4',
    title: 'dispatches run at the same time',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const started = performance.now();
      const leases = Array.from({ length: MIN_IN_FLIGHT }, () => dispatch('slow', '{"ms":500}'));
      for (const lease of leases) expectEqual('the text', textOf(await stream.answer(lease)), 'slept 500');
      const took = Math.round(performance.now() - started);
      expectThat(
        took < 500 * (MIN_IN_FLIGHT / 2),
        `${MIN_IN_FLIGHT} waits of 500 ms to overlap`,
        `${took} ms in all`,
      );
    },
  },
  {
    section: '1.1',
    title: 'arguments and values go through byte for byte',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      for (const text of VALUES) {
        const answer = await stream.answer(dispatch('echo', text));
        expectThat(jsonOf(answer) === text, `the value ${text.slice(0, 120)}`, saying(answer));
      }
    },
  },
  {
    section: '1.3',
    title: 'empty arguments stand for an empty object',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const input = create(ToolInputSchema, {
        status: { case: 'valid', value: { repairedJson: '{}', repairs: ['empty'] } },
      });
      expectEqual('the value', jsonOf(await stream.answer(dispatch('echo', '', { input }))), '{}');
    },
  },
  {
    section: '1.7',
    title: 'a repaired value is the value',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const input = create(ToolInputSchema, {
        status: { case: 'valid', value: { repairedJson: '{"a":2,"b":3}', repairs: ['commas'] } },
      });
      expectEqual('the sum', jsonOf(await stream.answer(dispatch('add', '{"a":2,"b":3,}', { input }))), '5');
    },
  },
  {
    section: '1.2',
    title: 'the proposal is accepted for invalid arguments',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const violations = [{ instancePath: '', keyword: 'required', message: 'needs b' }];
      const input = create(ToolInputSchema, { status: { case: 'invalid', value: { violations } } });
      const answer = await stream.answer(dispatch('add', '{"a":1}', { input, proposed: PROPOSED }));
      expectThat(answer.outcome.case === 'accept', 'accept', saying(answer));
    },
  },
  {
    section: '1.2',
    title: 'the proposal is accepted for malformed arguments',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const input = create(ToolInputSchema, { status: { case: 'malformed', value: { error: 'no JSON' } } });
      for (const text of ['{"a":', '[1]', 'null', '{"a":1,"a":2}']) {
        const answer = await stream.answer(dispatch('add', text, { input, proposed: PROPOSED }));
        expectThat(answer.outcome.case === 'accept', 'accept', saying(answer));
      }
    },
  },
  {
    section: '3.1',
    title: 'a picture travels as bytes',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const answer = await stream.answer(dispatch('image', '{}'));
      const [block] = answer.outcome.case === 'result' ? answer.outcome.value.content : [];
      expectThat(block?.kind.case === 'image', 'one image block', saying(answer));
      const image = block?.kind.case === 'image' ? block.kind.value : undefined;
      expectEqual('the media type', image?.mimeType, 'image/png');
      expectEqual('the bytes', Buffer.from(image?.data ?? []).toString('base64'), PIXEL_PNG_BASE64);
    },
  },
  {
    section: '4.8',
    title: 'a failure carries message, code and retryable',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const asked = { code: 'no_station', message: 'There is no station at “Ω”.', retryable: true };
      const answer = await stream.answer(dispatch('fail', JSON.stringify(asked)));
      expectThat(answer.outcome.case === 'error', 'an error', saying(answer));
      if (answer.outcome.case !== 'error') return;
      const { code, message, retryable } = answer.outcome.value;
      expectEqual('the failure', { code, message, retryable }, asked);
      const plain = await stream.answer(dispatch('fail', '{"message":"no"}'));
      const failure = plain.outcome.case === 'error' ? plain.outcome.value : undefined;
      expectEqual('retryable where nothing is said', failure?.retryable, false);
      expectEqual('the code where nothing is said', failure?.code, 'tool_error');
    },
  },
  {
    section: '4.2',
    title: 'the attempt reaches the handler',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      for (const attempt of [1, 2]) {
        const answer = await stream.answer(dispatch('flaky', '{"failures":2}', { attempt }));
        const failure = answer.outcome.case === 'error' ? answer.outcome.value : undefined;
        expectEqual(`attempt ${attempt}`, [failure?.code, failure?.retryable], ['flaky', true]);
      }
      expectEqual(
        'the text',
        textOf(await stream.answer(dispatch('flaky', '{"failures":2}', { attempt: 3 }))),
        'attempt 3',
      );
    },
  },
  {
    section: '4.9',
    title: 'a handler may leave its call open',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const answer = await stream.answer(dispatch('defer', '{"timeout_ms":90000}'));
      expectThat(answer.outcome.case === 'toolDefer', 'tool_defer', saying(answer));
      const timeout = answer.outcome.case === 'toolDefer' ? answer.outcome.value.timeout : undefined;
      expectEqual('the timeout in milliseconds', timeout && millisOf(timeout), 90_000);
      const plain = await stream.answer(dispatch('defer', '{}'));
      expectThat(
        plain.outcome.case === 'toolDefer' && plain.outcome.value.timeout === undefined,
        'no timeout',
        saying(plain),
      );
    },
  },
  {
    section: '5.12',
    title: 'a handler that breaks answers an error, and the worker lives',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const answer = await stream.answer(dispatch('crash', '{"how":"throw"}'));
      expectThat(answer.outcome.case === 'error', 'an error', saying(answer));
      expectEqual('the next sum', jsonOf(await stream.answer(dispatch('add', '{"a":1,"b":1}'))), '2');
    },
  },
  {
    section: '8.2',
    title: 'call id, attempt and trace context reach the handler',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      const answer = await stream.answer(
        dispatch('context', '{}', { attempt: 2, traceContext: { traceparent } }),
      );
      const told: unknown = JSON.parse(jsonOf(answer) ?? '{}');
      const trace =
        typeof told === 'object' && told !== null && 'traceparent' in told ? told.traceparent : undefined;
      const [, traceId] = String(trace).split('-');
      expectEqual('the trace id', traceId, traceparent.split('-')[1]);
      expectEqual(
        'the attempt',
        typeof told === 'object' && told !== null && 'attempt' in told && told.attempt,
        2,
      );
    },
  },
  {
    section: '3.4',
    title: 'an answer beyond the message limit fails that call alone',
    async check(bench) {
      const limit = 1024 * 1024;
      const { stream, dispatch } = await bench.serving({ maxMessageBytes: limit });
      const other = dispatch('slow', '{"ms":300}');
      const answer = await stream.answer(dispatch('big', JSON.stringify({ bytes: limit * 2 })));
      const code = answer.outcome.case === 'error' ? answer.outcome.value.code : saying(answer);
      expectEqual('the code', code, 'result_too_large');
      expectEqual('the other call', textOf(await stream.answer(other)), 'slept 300');
      const fits = await stream.answer(dispatch('big', '{"bytes":200000}'));
      expectEqual('the length of what fits', textOf(fits)?.length, 200_000);
    },
  },
  {
    section: '4.10',
    title: 'cancel stops the handler within its grace',
    async check(bench) {
      const serving = await bench.serving();
      const lease = serving.dispatch('slow', '{"ms":60000}');
      await heldIn(serving, lease);
      const started = performance.now();
      serving.stream.send(cancelFrame(lease));
      const answer = await serving.stream.answer(lease);
      expectThat(answer.outcome.case === 'cancelled', 'cancelled', saying(answer));
      const took = performance.now() - started;
      expectThat(took < FRAME_TIMEOUT_MS, 'an answer within the grace', `${Math.round(took)} ms`);
    },
  },
  {
    section: '4.4',
    title: 'progress is reported in order, and never goes back',
    async check(bench) {
      const { stream, dispatch } = await bench.serving();
      const lease = dispatch('progress', '{"steps":20}');
      expectEqual('the text', textOf(await stream.answer(lease)), 'done');
      const reports = stream.received.flatMap(({ kind }) =>
        kind.case === 'progress' && kind.value.leaseToken === lease ? [kind.value] : [],
      );
      expectThat(reports.length > 0, 'reports', 'none');
      const steps = reports.map(({ completed }) => completed ?? 0);
      expectEqual('the last step', steps.at(-1), 20);
      expectEqual(
        'the order',
        steps,
        [...steps].sort((a, b) => a - b),
      );
      expectEqual('the total', reports.at(-1)?.total, 20);
      const after = stream.received.findIndex(
        ({ kind }) => kind.case === 'answer' && kind.value.leaseToken === lease,
      );
      const last = stream.received.findLastIndex(
        ({ kind }) => kind.case === 'progress' && kind.value.leaseToken === lease,
      );
      expectThat(last < after, 'no report after the answer', 'one');
    },
  },
];

/** Waits for a heartbeat that names a lease: the handler has it. */
export async function heldIn({ stream }: Serving, lease: string): Promise<void> {
  await stream.next('heartbeat', 'a heartbeat that names the dispatch as held', ({ held }) =>
    held.includes(lease),
  );
}

export function cancelFrame(leaseToken: string) {
  return {
    case: 'cancel',
    value: {
      $typeName: 'spindle.v1.Cancel',
      leaseToken,
      reason: 1,
      grace: { $typeName: 'google.protobuf.Duration', seconds: 10n, nanos: 0 },
    },
  } as const;
}

export function jsonOf({ outcome }: Answer): string | undefined {
  return outcome.case === 'valueJson' ? outcome.value : undefined;
}

export function textOf({ outcome }: Answer): string | undefined {
  const [block] = outcome.case === 'result' ? outcome.value.content : [];
  return block?.kind.case === 'text' ? block.kind.value.text : undefined;
}
