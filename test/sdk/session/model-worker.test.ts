import { afterEach, describe, expect, it } from 'vitest';
import { ModelHandler } from '../../../gen/spindle/v1/agent_pb.ts';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import { FinishReason } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Dispatch } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { createEngine } from '../../../src/main.ts';
import { createClient, messageText, type TurnEvent } from '../../../src/sdk/index.ts';
import { connectWorker, helloOf, type Outcome, type RawWorker, textResult } from '../../e2e/raw-worker.ts';

let stops: (() => unknown)[] = [];

afterEach(async () => {
  for (const stop of stops.reverse()) await stop();
  stops = [];
});

/** A real engine, and a worker made of the contract alone that makes the model calls of an agent. */
async function system() {
  const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: false });
  stops.push(() => engine.stop(0));
  const client = createClient({ address: engine.grpcAddress });
  stops.push(() => client.close());
  const join = async (): Promise<RawWorker> => {
    const config = { model: 'own/model', modelHandler: ModelHandler.WORKER };
    const agents = [{ agentId: 'clerk', triggers: ['model.execute'], config }];
    const worker = await connectWorker(engine.grpcAddress, helloOf([], { agents }));
    stops.push(() => worker.vanish());
    return worker;
  };
  return { client, join };
}

function execute(dispatch: Dispatch) {
  const kind = dispatch.trigger?.kind;
  if (kind?.case !== 'modelExecute') throw new Error(`another trigger: ${kind?.case}`);
  return kind.value;
}

const part = (text: string) => ({ kind: { case: 'text' as const, value: text } });

const says = (text: string): Outcome => ({
  case: 'modelResponse',
  value: {
    message: {
      parts: [
        {
          kind: { case: 'content', value: { kind: { case: 'text', value: { text } } } },
        },
      ],
    },
    finishReason: FinishReason.STOP,
  },
});

async function texts(events: AsyncIterable<TurnEvent>): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of events) if (event.kind === 'text') seen.push(event.text);
  return seen;
}

describe('a model call at a worker made of the contract', () => {
  it('streams its deltas in order, and none of a lease that is not its own', async () => {
    const { client, join } = await system();
    const worker = await join();
    const stranger = await join();
    const { sessionId } = await client.sessions.create('clerk');
    const seen = texts(client.sessions.runTurn(sessionId, 'Hi'));
    const first = await Promise.race([
      worker.next('dispatch').then((dispatch) => ({ dispatch, holder: worker, other: stranger })),
      stranger.next('dispatch').then((dispatch) => ({ dispatch, holder: stranger, other: worker })),
    ]);
    const { leaseToken } = first.dispatch;
    first.other.send({ case: 'modelDelta', value: { leaseToken, deltas: [part('forged')] } });
    // The reply says that the engine has read what came before.
    await first.other.heartbeat(0);
    first.holder.send({ case: 'modelDelta', value: { leaseToken, deltas: [part('Hel'), part('lo.')] } });
    expect(await first.holder.answer(leaseToken, says('Hello, whole.'))).toMatchObject({ reason: '' });
    expect((await seen).join('')).toBe('Hello.');
    const { messages } = await client.sessions.get(sessionId, { messages: true });
    expect(messages.map(messageText)).toEqual(['Hi', 'Hello, whole.']);
  });

  it('5.13: is asked again under the same call id when its lease is lost, whose answer is then stale', async () => {
    const { client, join } = await system();
    const worker = await join();
    const { sessionId } = await client.sessions.create('clerk');
    const seen = texts(client.sessions.runTurn(sessionId, 'Hi'));
    const lost = await worker.next('dispatch');
    // A heartbeat that leaves the lease out gives it up.
    await worker.heartbeat(lost.sequence);
    const again = await worker.next('dispatch');
    expect(execute(again)).toMatchObject({ callId: execute(lost).callId, attempt: execute(lost).attempt });
    expect(again.leaseToken).not.toBe(lost.leaseToken);
    worker.send({ case: 'modelDelta', value: { leaseToken: lost.leaseToken, deltas: [part('stale')] } });
    const { verdict } = await worker.answer(lost.leaseToken, says('From the lost one.'));
    expect(verdict).toBe(AnswerVerdict.STALE);
    worker.send({ case: 'modelDelta', value: { leaseToken: again.leaseToken, deltas: [part('Hello.')] } });
    await worker.answer(again.leaseToken, says('Hello, whole.'));
    expect((await seen).join('')).toBe('Hello.');
    const { messages } = await client.sessions.get(sessionId, { messages: true });
    expect(messages.map(messageText)).toEqual(['Hi', 'Hello, whole.']);
  });

  it.each<[string, Outcome, string]>([
    ['an outcome of a tool', textResult('Hi'), 'invalid_answer'],
    ['an error without a code', { case: 'error', value: { message: 'No.' } }, 'provider_error'],
    ['an error that is final', { case: 'error', value: { code: 'refused', message: 'No.' } }, 'refused'],
  ])('ends the turn after %s', async (_, outcome, code) => {
    const { client, join } = await system();
    const worker = await join();
    const result = client.sessions.run('clerk', 'Hi');
    const { leaseToken } = await worker.next('dispatch');
    await worker.answer(leaseToken, outcome);
    expect(await result).toMatchObject({ ok: false, error: { code } });
  });
});
