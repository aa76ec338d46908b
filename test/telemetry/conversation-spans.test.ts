import { create } from '@bufbuild/protobuf';
import { SpanKind } from '@opentelemetry/api';
import { AlwaysOnSampler } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { type SessionEvent, SessionEventSchema } from '../../gen/spindle/v1/event_pb.ts';
import { activityName, originOfTurn } from '../../src/core/activity.ts';
import { timestamp } from '../../src/core/time.ts';
import { type ActivityRecorder, createRecorder } from '../../src/telemetry/recorder.ts';
import { createSpans, type FinishedSpan } from '../../src/telemetry/spans.ts';
import { waterfallOf } from '../../src/telemetry/waterfall.ts';
import { type AgentInit, loopWorld, SESSION, TURN, textResult } from '../engine/loop/loop-world.ts';
import { TENANT } from '../engine/virtual.ts';

const KEY = { tenant: TENANT, sessionId: SESSION };
const TOOL = { name: 'weather', description: 'The weather of a city.', inputSchemaJson: '{"type":"object"}' };
const HELLO = { instanceId: 'w', streamNumber: 1, workerName: 'billing', tools: [{ tool: TOOL }] };

/** A recorder, and the spans that it made. */
function recording(): { readonly recorder: ActivityRecorder; readonly spans: readonly FinishedSpan[] } {
  const spans: FinishedSpan[] = [];
  const sink = createSpans({
    sampler: new AlwaysOnSampler(),
    content: undefined,
    export: (span) => spans.push(span),
  });
  const observer = {
    report: (_: string, event: string, facts: object) => {
      throw new Error(`${event} ${JSON.stringify(facts)}`);
    },
  };
  return { recorder: createRecorder({ sinks: [sink], contextOf: sink.contextOf, observer }), spans };
}

function spansOf(events: readonly SessionEvent[]): readonly FinishedSpan[] {
  const { recorder, spans } = recording();
  recorder.recorded(KEY, events);
  return spans;
}

/** Each span under its parent, as indented names. */
function tree(
  spans: readonly FinishedSpan[],
  parent: string | undefined = undefined,
  depth = 0,
): readonly string[] {
  return spans
    .filter((span) => span.parent?.spanId === parent)
    .toSorted((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1])
    .flatMap((span) => [`${'  '.repeat(depth)}${span.name}`, ...tree(spans, span.context.spanId, depth + 1)]);
}

/** The log of a turn whose model calls the tool twice at once, and then answers. */
async function turnLog(config: AgentInit = {}): Promise<readonly SessionEvent[]> {
  const world = await loopWorld([
    {
      calls: [
        { id: 'c1', name: 'weather', arguments: { city: 'Oslo' } },
        { id: 'c2', name: 'weather', arguments: { city: 'Rome' } },
      ],
    },
    'It is sunny in both.',
  ]);
  await world.worker(HELLO, () => textResult('sunny'));
  await world.start(config);
  await world.say('How is the weather?');
  // What the worker was sent last is answered with the next thing that happens.
  await world.start({}, 'another');
  return world.log();
}

describe('the spans of a turn', () => {
  it('8.1: are one tree: the turn, its iterations, their model call and tool calls, and each attempt', async () => {
    const spans = spansOf(await turnLog());
    expect(tree(spans)).toEqual([
      'invoke_agent agent',
      '  iteration',
      '    chat test',
      '    execute_tool weather',
      '      dispatch weather',
      '    execute_tool weather',
      '      dispatch weather',
      '  iteration',
      '    chat test',
    ]);
    expect(new Set(spans.map(({ context }) => context.traceId)).size).toBe(1);
    expect(new Set(spans.map(({ context }) => context.spanId)).size).toBe(spans.length);
  });

  it('8.1, 8.3: have their kinds, and the attributes of the conventions', async () => {
    const spans = spansOf(await turnLog());
    const named = (name: string): FinishedSpan | undefined => spans.find((span) => span.name === name);
    expect(named('invoke_agent agent')).toMatchObject({
      kind: SpanKind.INTERNAL,
      error: undefined,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'agent',
        'gen_ai.conversation.id': SESSION,
        'spindle.turn.id': TURN,
      },
    });
    expect(
      spans.filter(({ name }) => name === 'iteration').map(({ attributes }) => attributes),
    ).toMatchObject([{ 'spindle.iteration.index': 1 }, { 'spindle.iteration.index': 2 }]);
    expect(named('chat test')).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'scripted',
        'gen_ai.request.model': 'test',
        'gen_ai.response.finish_reasons': ['tool_calls'],
        'gen_ai.usage.input_tokens': expect.any(Number),
      },
    });
    expect(named('execute_tool weather')).toMatchObject({
      kind: SpanKind.INTERNAL,
      attributes: { 'gen_ai.conversation.id': SESSION, 'gen_ai.tool.call.id': 'c1' },
    });
    expect(named('dispatch weather')).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: { 'spindle.worker.name': 'billing' },
    });
  });

  it('8.2: are the same, each once, wherever in its log the engine was restarted', async () => {
    const log = await turnLog();
    const whole = spansOf(log);
    for (let restart = 0; restart <= log.length; restart++) {
      const [first, second] = [recording(), recording()];
      first.recorder.recorded(KEY, log.slice(0, restart));
      second.recorder.replayed(KEY, log.slice(0, restart));
      second.recorder.recorded(KEY, log.slice(restart));
      expect([...first.spans, ...second.spans]).toEqual(whole);
    }
  });

  it('8.1, 6.11: show an approval as a wait within the call, and a denial is no error', async () => {
    const world = await loopWorld([
      { calls: [{ id: 'c1', name: 'weather', arguments: {} }] },
      'As you wish.',
    ]);
    await world.worker(HELLO, () => textResult('sunny'));
    await world.start({ approval: { names: ['weather'] } });
    await world.say('How is the weather?');
    const raised = (await world.log()).flatMap(({ kind }) =>
      kind.case === 'interruptRaised' ? [kind.value.interruptId] : [],
    );
    await world.resume(raised[0] ?? '', { denyReason: 'not today' });
    const call = spansOf(await world.log()).find(({ name }) => name === 'execute_tool weather');
    expect(call).toMatchObject({
      error: undefined,
      attributes: {
        'spindle.tool.outcome': 'denied',
        'spindle.tool.attempts': 0,
        'spindle.tool.queue.duration': 0,
      },
      events: [{ name: 'spindle.interrupt.raised' }, { name: 'spindle.interrupt.resumed' }],
    });
  });
});

describe('the trace of a turn', () => {
  const turnStarted = (sessionId: string, traceContext: Readonly<Record<string, string>>): SessionEvent =>
    create(SessionEventSchema, {
      sessionId,
      sequence: 1,
      turnId: TURN,
      occurredAt: timestamp(1_000),
      journal: { traceContext: { ...traceContext } },
      kind: { case: 'turnStarted', value: {} },
    });
  const turnEnded = (sessionId: string): SessionEvent =>
    create(SessionEventSchema, {
      sessionId,
      sequence: 2,
      turnId: TURN,
      occurredAt: timestamp(2_000),
      kind: { case: 'turnEnded', value: { outcome: { case: 'cancelledReason', value: 'enough' } } },
    });

  it('8.2: is that of its client, and 8.4: cancelled by a person is no error', () => {
    const { recorder, spans } = recording();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    recorder.recorded(KEY, [turnStarted(SESSION, { traceparent }), turnEnded(SESSION)]);
    expect(spans).toMatchObject([
      {
        context: { traceId: '0af7651916cd43dd8448eb211c80319c' },
        parent: { spanId: 'b7ad6b7169203331' },
        error: undefined,
      },
    ]);
  });

  it('8.1, 6.10: is under the call that a subagent answers', () => {
    const { recorder, spans } = recording();
    const child = { tenant: TENANT, sessionId: 'child' };
    const context = recorder.contextOf(KEY, () => originOfTurn(KEY, TURN, {}), activityName.call('c1'));
    recorder.recorded(child, [turnStarted('child', context), turnEnded('child')]);
    const [, traceId, spanId] = context['traceparent']?.split('-') ?? [];
    expect(spans).toMatchObject([{ context: { traceId }, parent: { traceId, spanId } }]);
  });
});

describe('the waterfall of a session', () => {
  it('draws its turn with model calls, calls and attempts', async () => {
    const waterfall = waterfallOf(await turnLog());
    expect(waterfall?.rows.map(({ depth, label }) => `${'  '.repeat(depth)}${label}`)).toEqual([
      'turn of agent',
      '  iteration 1',
      '    scripted/test',
      '    weather',
      '      attempt 1',
      '    weather',
      '      attempt 1',
      '  iteration 2',
      '    scripted/test',
    ]);
  });

  it('draws nothing of a turn that there is not', async () => {
    expect(waterfallOf(await turnLog(), 'another')).toBeUndefined();
  });
});
