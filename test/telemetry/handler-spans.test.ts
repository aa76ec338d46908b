import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openEngine } from '../e2e/engine.ts';
import { method } from '../e2e/raw-client.ts';
import type { ReceivedSpan } from './otlp/messages.ts';
import { openReceiver, type Receiver } from './otlp/receiver.ts';

/** A worker of the SDK in a process of its own, with an SDK of OpenTelemetry. */
async function tracedWorker(address: string, receiver: Receiver) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'traced-worker.ts'), address], {
    env: { ...process.env, ...receiver.variables },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return {
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

const spansOf = (receiver: Receiver, callId: string): readonly ReceivedSpan[] => {
  const call = receiver.spans.find(
    (span) => span.name.startsWith('execute_tool') && span.attributes['gen_ai.tool.call.id'] === callId,
  );
  return receiver.spans.filter(({ traceId }) => traceId === call?.traceId);
};

describe('a worker of the SDK', () => {
  it('8.1: opens `handle` as the active span, under the attempt, so that the spans of its tools nest', async () => {
    await using receiver = await openReceiver('grpc');
    await using engine = await openEngine({ telemetry: { variables: receiver.variables } });
    await using _ = await tracedWorker(engine.address, receiver);
    for (const name of ['good', 'bad']) await engine.client.call(method.callTool, { name, callId: name });
    await receiver.until(
      () => spansOf(receiver, 'good').length === 4 && spansOf(receiver, 'bad').length === 3,
    );

    const spans = spansOf(receiver, 'good');
    const [call, dispatch, handle, own] = [
      'execute_tool good',
      'dispatch good',
      'handle good',
      'look it up',
    ].map((name) => spans.find((span) => span.name === name));
    expect(dispatch?.parentSpanId).toBe(call?.spanId);
    expect(handle).toMatchObject({
      parentSpanId: dispatch?.spanId,
      kind: 'SERVER',
      status: 'UNSET',
      attributes: { 'gen_ai.tool.name': 'good', 'gen_ai.tool.call.id': 'good' },
      resource: { 'service.name': 'traced-worker' },
    });
    expect(handle?.attributes).not.toHaveProperty('gen_ai.operation.name');
    expect(own?.parentSpanId).toBe(handle?.spanId);

    const failed = spansOf(receiver, 'bad').find(({ name }) => name === 'handle bad');
    expect(failed).toMatchObject({ status: 'ERROR', attributes: { 'error.type': 'tool_error' } });
  });
});
