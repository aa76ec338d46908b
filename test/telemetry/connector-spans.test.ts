import { describe, expect, it } from 'vitest';
import { duration } from '../../src/core/time.ts';
import { turnWith } from '../connectors/agent-turn.ts';
import { connectedEngine, httpConnector } from '../connectors/connected-engine.ts';
import { type Exchange, scriptedServer, TOOL } from '../connectors/scripted-server.ts';
import { spansOf } from './call-spans.ts';
import { openReceiver } from './otlp/receiver.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const traceContext = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01`, baggage: 'who=me' };

/** The spans of one call to a server, over OTLP, and what the server was asked. */
async function spansOfCall(call?: (exchange: Exchange, count: number) => void) {
  const receiver = await openReceiver('grpc');
  let count = 0;
  const server = await scriptedServer({
    tools: () => [{ ...TOOL, annotations: { idempotentHint: true } }],
    ...(call === undefined ? {} : { call: (exchange: Exchange) => call(exchange, ++count) }),
  });
  const { client, engine } = await connectedEngine(
    { s: httpConnector(server.url, { trusted: true }) },
    {
      telemetry: { variables: receiver.variables },
      retry: { tool: { maxAttempts: 2, initialBackoff: duration(1) } },
    },
  );
  const { callId } = await client.call('s__work', { n: 1 }, { traceContext });
  const spans = await spansOf(receiver, callId);
  await engine.running.stop(0);
  await receiver[Symbol.asyncDispose]();
  const asked = server.seen.filter(({ method }) => method === 'tools/call').map(({ params }) => params);
  return { ...spans, asked };
}

describe('the spans of a call to an MCP server', () => {
  it('8.1, 8.3: an attempt is a request of MCP, under the execute_tool of its call', async () => {
    const { call, attempts } = await spansOfCall();
    expect(call).toMatchObject({ name: 'execute_tool s__work', kind: 'INTERNAL', traceId: TRACE_ID });
    expect(attempts).toMatchObject([
      {
        name: 'tools/call s__work',
        kind: 'CLIENT',
        status: 'UNSET',
        traceId: TRACE_ID,
        parentSpanId: call.spanId,
        attributes: {
          'mcp.method.name': 'tools/call',
          'gen_ai.tool.name': 's__work',
          'spindle.attempt.number': 1,
          'spindle.worker.name': 's',
        },
      },
    ]);
    expect(attempts[0]?.attributes).not.toHaveProperty('gen_ai.operation.name');
  });

  it('8.2: the server finds the span of its attempt in _meta, and what is not ours', async () => {
    const { attempts, asked } = await spansOfCall();
    const traceparent = `00-${TRACE_ID}-${attempts[0]?.spanId}-01`;
    expect(asked).toMatchObject([{ _meta: { traceparent, baggage: 'who=me' } }]);
  });

  it('8.4: a lost attempt and the one after it are a span each, with a context each', async () => {
    const { attempts, asked } = await spansOfCall(({ response, result }, count) => {
      if (count === 1) response.destroy();
      else result({ content: [] });
    });
    expect(attempts).toMatchObject([
      { name: 'tools/call s__work', status: 'ERROR', attributes: { 'error.type': 'outcome_unknown' } },
      { name: 'tools/call s__work', status: 'UNSET', attributes: { 'spindle.attempt.number': 2 } },
    ]);
    expect(asked).toMatchObject(
      attempts.map(({ spanId }) => ({ _meta: { traceparent: `00-${TRACE_ID}-${spanId}-01` } })),
    );
  });

  it.each<[string, (exchange: Exchange) => void, string]>([
    ['isError', ({ result }) => result({ content: [], isError: true }), 'tool_error'],
    [
      'an error of the protocol',
      ({ json, message }) => json({ jsonrpc: '2.0', id: message.id, error: { code: -32602, message: 'no' } }),
      'connector_error',
    ],
  ])('8.4: %s is an error of both spans', async (_, answer, code) => {
    const { call, attempts } = await spansOfCall(answer);
    const failed = { status: 'ERROR', attributes: { 'error.type': code } };
    expect([call, ...attempts]).toMatchObject([failed, failed]);
  });

  it('8.1: a call of a turn is told in the same way', async () => {
    await using receiver = await openReceiver('grpc');
    const server = await scriptedServer({});
    const answers = [{ calls: [{ name: 's__work', arguments: {} }] }, 'done'];
    const telemetry = { variables: receiver.variables };
    const { engine } = await turnWith(server, answers, {}, { telemetry });
    await engine.running.stop(0);
    const named = (name: string) => receiver.spans.find((span) => span.name === name);
    expect(named('tools/call s__work')?.parentSpanId).toBe(named('execute_tool s__work')?.spanId);
    expect(named('execute_tool s__work')?.parentSpanId).toMatch(/^[0-9a-f]{16}$/);
  });
});
