import { describe, expect, it } from 'vitest';
import { duration } from '../../src/core/time.ts';
import { openEngine } from '../e2e/engine.ts';
import { holding } from '../e2e/holding.ts';
import { openReceiver } from './otlp/receiver.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const traceContext = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` };

describe('the log', () => {
  it('8.2, 9.4: has a line for a call that an operator should see, with its ids, and none for what its tool says', async () => {
    await using engine = await openEngine();
    const timedOut = await holding(engine, { traceContext, retry: { runTimeout: duration(20) } });
    await timedOut.end();
    const failed = await holding(engine, { traceContext });
    await failed.worker.answer(failed.work.leaseToken, { case: 'error', value: { message: 'secret' } });
    await failed.end();
    expect(engine.reports.filter(({ event }) => event === 'call_failed')).toEqual([
      {
        level: 'warn',
        event: 'call_failed',
        facts: { call_id: timedOut.name, tool: timedOut.name, trace_id: TRACE_ID, code: 'run_timeout' },
      },
    ]);
  });

  it('8.2: names the trace that its spans are in, also where it began here', async () => {
    await using receiver = await openReceiver('grpc');
    await using engine = await openEngine({ telemetry: { variables: receiver.variables } });
    const { name, end } = await holding(engine, { retry: { runTimeout: duration(20) } });
    await end();
    await receiver.until(({ spans }) => spans.some((span) => span.name === `execute_tool ${name}`));
    const logged = engine.reports.find(({ event }) => event === 'call_failed');
    expect(logged?.facts['trace_id']).toBe(receiver.spans[0]?.traceId);
  });
});
