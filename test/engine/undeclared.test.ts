import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { RetryPolicySchema } from '../../gen/spindle/v1/retry_pb.ts';
import { InvalidInputHandling } from '../../gen/spindle/v1/tool_pb.ts';
import { RESUME_GRACE_MS } from '../../src/core/limits.ts';
import { hello, textResult, virtualEngine } from './virtual.ts';

/** After a restart nobody has declared anything, though every worker is about to. */
describe('a tool that is called before its worker has come back', () => {
  it('4.2: is repeated when its worker is lost, where its definition says that it may be', async () => {
    const tool = { name: 't', annotations: { idempotent: true }, retry: { maxAttempts: 2 } };
    const spindle = await virtualEngine();
    const call = spindle.call({ name: 't', callId: 'one' });
    const first = await spindle.connect(hello('first', [tool]));
    await spindle.settle();
    expect(first.dispatches()).toHaveLength(1);
    await first.vanish();
    const second = await spindle.connect(hello('second', [tool]));
    await spindle.advance(RESUME_GRACE_MS / 2);
    await second.heartbeat(0);
    await spindle.advance(RESUME_GRACE_MS / 2 + 1_000);
    await second.answer(second.execute(0).leaseToken, textResult('done'));
    expect(call.end).toMatchObject({ attempts: 2, outcome: { case: 'result' } });
  });

  it('4.1: is held to the times of its definition, and the caller has the last word', async () => {
    const tool = {
      name: 't',
      retry: { runTimeout: { seconds: 5n }, maxAttempts: 4, initialBackoff: { seconds: 1n } },
    };
    const spindle = await virtualEngine();
    const call = spindle.call({
      name: 't',
      callId: 'one',
      retry: create(RetryPolicySchema, { maxAttempts: 1 }),
    });
    await spindle.connect(hello('first', [tool]));
    await spindle.advance(5_000);
    expect(call.end).toMatchObject({
      attempts: 1,
      outcome: { case: 'error', value: { code: 'run_timeout' } },
    });
  });

  it('4.1, 7.2: keeps what its definition said over the next restart', async () => {
    const tool = { name: 't', retry: { runTimeout: { seconds: 300n } } };
    let spindle = await virtualEngine();
    spindle.call({ name: 't', callId: 'one' });
    const worker = await spindle.connect(hello('w', [tool]));
    const { leaseToken } = worker.execute(0);
    const resumeToken = worker.welcome?.resumeToken ?? '';
    spindle = await spindle.restart();
    const joined = spindle.call({ name: 't', callId: 'one' });
    const again = await spindle.connect(
      hello('w', [tool], { streamNumber: 2, resumeToken, held: [{ leaseToken }] }),
    );
    // Longer than the engine's own 120 s.
    await spindle.advance(25_000);
    for (let beats = 0; beats < 10; beats++) {
      await again.heartbeat(0, leaseToken);
      await spindle.advance(20_000);
    }
    expect(joined.end).toBeUndefined();
    await again.answer(leaseToken, textResult('done'));
    expect(joined.end).toMatchObject({ attempts: 1, outcome: { case: 'result' } });
  });

  it('1.2: never reaches its worker with arguments that its definition has the engine refuse', async () => {
    const tool = {
      name: 't',
      inputSchemaJson: '{"type":"object","required":["city"]}',
      invalidInputHandling: InvalidInputHandling.ENGINE,
    };
    const spindle = await virtualEngine();
    const call = spindle.call({ name: 't', callId: 'one', arguments: '{}' });
    const lenient = spindle.call({ name: 't', callId: 'two', arguments: '{}', requireValidInput: false });
    const worker = await spindle.connect(hello('w', [tool]));
    await spindle.settle();
    expect(call.end?.outcome).toMatchObject({ case: 'error', value: { code: 'invalid_arguments' } });
    expect(worker.dispatches()).toHaveLength(1);
    expect(worker.execute(0).execute.callId).toBe(lenient.callId);
  });
});
