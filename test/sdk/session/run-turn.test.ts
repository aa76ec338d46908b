import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import {
  type Client,
  createClient,
  defineAgent,
  defineClientTool,
  defineTool,
  type Interrupt,
  type TurnEvent,
  text,
  userMessage,
} from '../../../src/sdk/index.ts';
import { finished, type SessionPeer, said, started, startSessionPeer, status } from './session-peer.ts';

let peer: SessionPeer;
let client: Client;

beforeEach(async () => {
  peer = await startSessionPeer();
  client = createClient({ address: peer.address });
});

afterEach(async () => {
  await client.close();
  peer.close();
});

async function collect(events: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> {
  const collected: TurnEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

const kinds = (events: readonly TurnEvent[]) => events.map(({ kind }) => kind);
const sequences = (events: readonly TurnEvent[]) =>
  events.flatMap((event) => ('sequence' in event ? [event.sequence] : []));

describe('a turn that is run', () => {
  it('starts with its input, and gives what happens in it up to its end', async () => {
    peer.onTurn = (turnId) => {
      peer.append(turnId, started, { case: 'iterationStarted', value: { iteration: 1 } });
      peer.append(turnId, { case: 'modelCallRequested', value: { callId: 'm1' } });
      peer.delta({ callId: 'm1', kind: { case: 'reasoning', value: 'Hm.' } });
      peer.delta({ callId: 'm1', kind: { case: 'text', value: 'Hel' } });
      peer.delta({
        callId: 'm1',
        kind: { case: 'toolCall', value: { callId: 'a', name: 'x', arguments: '{' } },
      });
      peer.append(turnId, ...said('m1', 'Hello').slice(1), finished('message-m1'));
    };
    const events = await collect(client.sessions.runTurn('s1', 'Hi', { turnId: 't1', queue: true }));
    expect(events).toMatchObject([
      { kind: 'turn.started', sequence: 1, sessionId: 's1', turnId: 't1', occurredAt: new Date(5_000) },
      { kind: 'iteration.started', data: { iteration: 1 } },
      { kind: 'model.call.requested', data: { callId: 'm1' } },
      { kind: 'reasoning', text: 'Hm.' },
      { kind: 'text', callId: 'm1', text: 'Hel' },
      { kind: 'tool_call', toolCallId: 'a', name: 'x', arguments: '{' },
      { kind: 'model.call.finished' },
      { kind: 'message.recorded' },
      { kind: 'turn.ended', sequence: 6, data: { outcome: { case: 'finished' } } },
    ]);
    expect(peer.sent('runTurn')).toMatchObject([
      {
        sessionId: 's1',
        turnId: 't1',
        queue: true,
        input: { kind: { case: 'messages', value: { messages: [{ role: Role.USER }] } } },
      },
    ]);
  });

  it('does not start before it is iterated, and has an id of its own', async () => {
    const events = client.sessions.runTurn('s1', 'Hi');
    expect(peer.requests).toEqual([]);
    peer.onTurn = (turnId) => peer.append(turnId, finished(''));
    const [last] = await collect(events);
    expect(last).toMatchObject({ kind: 'turn.ended', turnId: expect.stringMatching(/.{20}/) });
  });

  it('leaves out what belongs to the turn before it', async () => {
    peer.onTurn = (turnId) => {
      peer.append('earlier', { case: 'modelCallRequested', value: { callId: 'm0' } });
      peer.delta({ callId: 'm0', kind: { case: 'text', value: 'not ours' } });
      peer.append('earlier', finished(''));
      peer.append(turnId, started, finished(''));
    };
    expect(kinds(await collect(client.sessions.runTurn('s1', 'Hi')))).toEqual(['turn.started', 'turn.ended']);
  });

  it.each([
    ['several contents', ['look', text('here')], { parts: [{}, {}] }],
    ['a message', userMessage('Hi'), { role: Role.USER }],
    ['messages', [userMessage('Hi')], { role: Role.USER }],
  ])('6.9: takes %s', async (_, input, message) => {
    peer.onTurn = (turnId) => peer.append(turnId, finished(''));
    await collect(client.sessions.runTurn('s1', input));
    expect(peer.sent('runTurn')).toMatchObject([{ input: { kind: { value: { messages: [message] } } } }]);
  });

  it('takes a named action', async () => {
    peer.onTurn = (turnId) => peer.append(turnId, finished(''));
    await collect(client.sessions.runTurn('s1', { action: 'refund', arguments: { order: 1 } }));
    expect(peer.sent('runTurn')).toMatchObject([
      { input: { kind: { case: 'action', value: { name: 'refund', argumentsJson: '{"order":1}' } } } },
    ]);
  });

  it.each<[string, unknown, object, RegExp]>([
    ['a misspelt option', 'Hi', { que: true }, /no option "que"/],
    ['no message', [], {}, /starts with a message/],
    ['messages and content together', [userMessage('Hi'), 'there'], {}, /mixes messages with content/],
    [
      'an action with tools',
      { action: 'x' },
      { clientTools: [defineClientTool({ name: 'a', description: '' })] },
      /come with messages/,
    ],
  ])('is refused here for %s', async (_, input, options, reason) => {
    await expect(client.sessions.runTurn('s1', input as string, options).next()).rejects.toThrow(reason);
    expect(peer.requests).toEqual([]);
  });
});

describe('a connection that breaks under a turn', () => {
  it('6.14: before the first event, the turn is asked for again under its id', async () => {
    let tries = 0;
    peer.onStream = () => (++tries < 3 ? { code: 14 } : undefined);
    peer.onTurn = (turnId) => peer.append(turnId, started, finished(''));
    const events = await collect(client.sessions.runTurn('s1', 'Hi'));
    expect(sequences(events)).toEqual([1, 2]);
    const ids = peer.sent('runTurn').map(({ turnId }) => turnId);
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(1);
  });

  it('after an event, the session is watched from there: no gap, no repeat', async () => {
    peer.onTurn = (turnId) => peer.append(turnId, started, ...said('m1', 'One'));
    const events: TurnEvent[] = [];
    for await (const event of client.sessions.runTurn('s1', 'Hi', { turnId: 't1' })) {
      events.push(event);
      if ('sequence' in event && event.sequence === 4) {
        peer.break(14);
        peer.append('t1', ...said('m2', 'Two'));
      }
      if ('sequence' in event && event.sequence === 7) {
        peer.break(13);
        peer.append('t1', finished('message-m2'));
      }
    }
    expect(sequences(events)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    const cursors = peer.sent('watchSession').map(({ afterSequence }) => afterSequence);
    expect(cursors).toEqual([4, 7]);
    expect(peer.sent('runTurn')).toHaveLength(1);
  });

  it('events that come again are not given again', async () => {
    let streams = 0;
    peer.onStream = (method) => {
      streams += 1;
      // The stream that takes the place of the broken one repeats the end of the log.
      if (method === 'watchSession') peer.append('t1', finished(''));
      return undefined;
    };
    peer.onTurn = (turnId) => peer.append(turnId, started);
    const events: TurnEvent[] = [];
    for await (const event of client.sessions.runTurn('s1', 'Hi', { turnId: 't1' })) {
      events.push(event);
      if (event.kind === 'turn.started') peer.break(14);
    }
    expect(sequences(events)).toEqual([1, 2]);
    expect(streams).toBe(2);
  });

  it.each([
    [3, 'INVALID_ARGUMENT'],
    [5, 'NOT_FOUND'],
    [7, 'PERMISSION_DENIED'],
    [9, 'FAILED_PRECONDITION'],
  ])('a refusal is thrown at once: status %i', async (code, name) => {
    peer.onStream = () => ({ code, details: 'no' });
    await expect(collect(client.sessions.runTurn('s1', 'Hi'))).rejects.toMatchObject({
      code: name,
      message: 'no',
    });
    expect(peer.sent('runTurn')).toHaveLength(1);
  });

  it('an engine that stays away is thrown as UNAVAILABLE', async () => {
    await using nobody = createClient({ address: '127.0.0.1:1', unavailableAfterMs: 1 });
    await expect(collect(nobody.sessions.runTurn('s1', 'Hi'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('4.10: a signal ends the wait, and the turn goes on', async () => {
    const controller = new AbortController();
    peer.onTurn = (turnId) => peer.append(turnId, started);
    const events = client.sessions.runTurn('s1', 'Hi', { signal: controller.signal });
    await events.next();
    const next = events.next();
    controller.abort(new Error('never mind'));
    await expect(next).rejects.toThrow('never mind');
    expect(peer.sent('cancelTurn')).toEqual([]);
  });

  it('closing the client ends the wait', async () => {
    peer.onTurn = (turnId) => peer.append(turnId, started);
    const events = client.sessions.runTurn('s1', 'Hi');
    await events.next();
    const next = events.next();
    await client.close();
    await expect(next).rejects.toMatchObject({ reason: 'client_closed' });
  });
});

describe('a turn that pauses', () => {
  const item = { id: 'i1', callId: 'c1', name: 'refund', reason: 3, payloadJson: '{"amount":5}' };
  const raised = {
    case: 'interruptRaised',
    value: { interruptId: 'i1', callId: 'c1', reason: 'confirm' },
  } as const;
  const resumed = { case: 'interruptResumed', value: { interruptId: 'i1', callId: 'c1' } } as const;
  const requested = { case: 'toolCallRequested', value: { callId: 'c1', name: 'refund' } } as const;
  const open = (openItems: readonly object[]) => () => ({
    session: { sessionId: 's1', lastSequence: peer.sequence, openItems },
  });

  it('6.11: ends with what it waits for, where nobody answers', async () => {
    peer.answers['getSession'] = open([item]);
    peer.onTurn = (turnId) => {
      peer.append(turnId, started, requested, raised);
      peer.pause();
    };
    const events = await collect(client.sessions.runTurn('s1', 'Hi', { turnId: 't1' }));
    expect(events.at(-1)).toMatchObject({
      kind: 'paused',
      turnId: 't1',
      openItems: [{ id: 'i1', name: 'refund' }],
    });
    expect(sequences(events)).toEqual([1, 2, 3]);
  });

  it('6.11: goes on with what a handler answers', async () => {
    const seen: Partial<Interrupt>[] = [];
    peer.answers['getSession'] = open([item]);
    peer.answers['resumeInterrupt'] = () => {
      peer.append('t1', resumed, finished(''));
      return {};
    };
    peer.onTurn = (turnId) => {
      peer.append(turnId, started, requested, raised);
      peer.pause();
    };
    const events = await collect(
      client.sessions.runTurn('s1', 'Hi', {
        turnId: 't1',
        onInterrupt: async ({ signal: _, ...interrupt }) => {
          seen.push(interrupt);
          return { resume: { yes: true } };
        },
      }),
    );
    expect(seen).toEqual([
      {
        interruptId: 'i1',
        callId: 'c1',
        toolName: 'refund',
        reason: 'confirm',
        payload: { amount: 5 },
        sessionId: 's1',
        turnId: 't1',
      },
    ]);
    expect(peer.sent('resumeInterrupt')).toMatchObject([
      { sessionId: 's1', interruptId: 'i1', payloadJson: '{"yes":true}' },
    ]);
    expect(sequences(events)).toEqual([1, 2, 3, 4, 5]);
  });

  it('6.11: is denied with a reason', async () => {
    peer.answers['getSession'] = open([item]);
    peer.answers['resumeInterrupt'] = () => {
      peer.append('t1', resumed, finished(''));
      return {};
    };
    peer.onTurn = (turnId) => peer.append(turnId, raised);
    await collect(
      client.sessions.runTurn('s1', 'Hi', { turnId: 't1', onInterrupt: () => ({ deny: 'too much' }) }),
    );
    expect(peer.sent('resumeInterrupt')).toMatchObject([{ denyReason: 'too much', payloadJson: '' }]);
  });

  it('pauses where a handler leaves an interrupt open', async () => {
    peer.answers['getSession'] = open([item]);
    peer.onTurn = (turnId) => {
      peer.append(turnId, started, requested, raised);
      peer.pause();
    };
    const events = await collect(client.sessions.runTurn('s1', 'Hi', { onInterrupt: () => undefined }));
    expect(events.at(-1)?.kind).toBe('paused');
    expect(peer.sent('resumeInterrupt')).toEqual([]);
  });

  it('sees a pause also on the stream that took the place of a broken one', async () => {
    peer.answers['getSession'] = open([item]);
    peer.onTurn = (turnId) => peer.append(turnId, started);
    const events: TurnEvent[] = [];
    for await (const event of client.sessions.runTurn('s1', 'Hi', { turnId: 't1' })) {
      events.push(event);
      if (event.kind === 'turn.started') {
        peer.break(14);
        peer.append('t1', requested, raised);
      }
    }
    expect(kinds(events)).toEqual(['turn.started', 'tool.call.requested', 'interrupt.raised', 'paused']);
  });

  it('a handler that throws ends the iteration with its error', async () => {
    peer.answers['getSession'] = open([item]);
    peer.onTurn = (turnId) => peer.append(turnId, raised);
    const events = client.sessions.runTurn('s1', 'Hi', {
      onInterrupt: () => {
        throw new Error('nobody is here');
      },
    });
    await expect(collect(events)).rejects.toThrow('nobody is here');
  });

  it('an interrupt that was answered elsewhere is not asked about', async () => {
    let asked = 0;
    peer.onTurn = (turnId) => peer.append(turnId, raised, resumed, finished(''));
    await collect(
      client.sessions.runTurn('s1', 'Hi', {
        onInterrupt: () => {
          asked += 1;
          return undefined;
        },
      }),
    );
    expect(asked).toBe(0);
  });
});

describe('tools that the client runs', () => {
  const where = defineTool({
    name: 'where',
    description: 'Where the user is.',
    schema: z.object({ precise: z.boolean().default(false) }),
    execute: ({ precise }) => (precise ? 'Tokyo, Shibuya' : 'Tokyo'),
  });
  const requested = (callId: string, name: string) =>
    ({
      case: 'toolCallRequested',
      value: {
        callId,
        name,
        handler: ToolHandler.CLIENT,
        messageId: 'm',
        input: { status: { case: 'valid', value: {} } },
      },
    }) as const;
  const ended = (callId: string) => ({ case: 'toolCallFinished', value: { callId } }) as const;

  it('6.9: are declared with the input, run here, and settle their call', async () => {
    peer.answers['getCall'] = ({ callId }) => ({
      call: { callId, arguments: '{"precise":true}', attempt: 1 },
    });
    peer.answers['settleCall'] = () => {
      peer.append('t1', ended('c1'), finished(''));
      return { verdict: 1 };
    };
    peer.onTurn = (turnId) => {
      peer.append(turnId, started, requested('c1', 'where'));
      peer.pause();
    };
    const other = defineClientTool({ name: 'elsewhere', description: 'Is settled by somebody else.' });
    const events = await collect(
      client.sessions.runTurn('s1', 'Hi', { turnId: 't1', clientTools: [where, other] }),
    );
    expect(peer.sent('runTurn')).toMatchObject([
      {
        input: {
          kind: {
            value: {
              clientTools: [
                { name: 'where', handler: ToolHandler.CLIENT },
                { name: 'elsewhere', handler: ToolHandler.CLIENT },
              ],
            },
          },
        },
      },
    ]);
    expect(peer.sent('settleCall')).toMatchObject([
      {
        sessionId: 's1',
        callId: 'c1',
        outcome: { case: 'result', value: { content: [{ kind: { value: { text: 'Tokyo, Shibuya' } } }] } },
      },
    ]);
    expect(events.at(-1)?.kind).toBe('turn.ended');
  });

  it('run beside each other, and what they throw fails their call alone', async () => {
    const settled: unknown[] = [];
    const broken = defineTool({
      name: 'broken',
      description: 'Is broken.',
      execute: () => {
        throw new Error('no camera');
      },
    });
    peer.answers['getCall'] = ({ callId }) => ({ call: { callId, arguments: '{}' } });
    peer.answers['settleCall'] = ({ callId, outcome }) => {
      settled.push([callId, outcome]);
      peer.append('t1', ended(String(callId)));
      if (settled.length === 2) peer.append('t1', finished(''));
      return { verdict: 1 };
    };
    peer.onTurn = (turnId) => {
      peer.append(turnId, requested('c1', 'where'), requested('c2', 'broken'));
      peer.pause();
    };
    await collect(client.sessions.runTurn('s1', 'Hi', { turnId: 't1', clientTools: [where, broken] }));
    expect(settled.toSorted()).toMatchObject([
      ['c1', { case: 'result' }],
      ['c2', { case: 'error', value: { code: 'tool_error', message: 'no camera' } }],
    ]);
  });

  it('do not run for a call that has ended, as one does when a turn is followed anew', async () => {
    peer.answers['getCall'] = ({ callId }) => ({
      call: { callId, outcome: { case: 'result', value: {} } },
    });
    peer.onTurn = (turnId) => peer.append(turnId, requested('c1', 'where'), ended('c1'), finished(''));
    await collect(client.sessions.runTurn('s1', 'Hi', { clientTools: [where] }));
    expect(peer.sent('settleCall')).toEqual([]);
  });

  it('a call that somebody else settled first is nothing to fail for', async () => {
    peer.answers['getCall'] = ({ callId }) => ({ call: { callId, arguments: '{}' } });
    peer.answers['settleCall'] = () => {
      peer.append('t1', ended('c1'), finished(''));
      throw status(9, 'The call is not open.');
    };
    peer.onTurn = (turnId) => peer.append(turnId, requested('c1', 'where'));
    const events = await collect(client.sessions.runTurn('s1', 'Hi', { turnId: 't1', clientTools: [where] }));
    expect(events.at(-1)?.kind).toBe('turn.ended');
  });

  it('a settlement that does not get through is sent again', async () => {
    let tries = 0;
    peer.answers['getCall'] = ({ callId }) => ({ call: { callId, arguments: '{}' } });
    peer.answers['settleCall'] = () => {
      tries += 1;
      if (tries === 1) throw status(14);
      peer.append('t1', ended('c1'), finished(''));
      return { verdict: 1 };
    };
    peer.onTurn = (turnId) => peer.append(turnId, requested('c1', 'where'));
    await collect(client.sessions.runTurn('s1', 'Hi', { turnId: 't1', clientTools: [where] }));
    expect(tries).toBe(2);
  });

  it('are stopped when their call ends without them', async () => {
    const running = Promise.withResolvers<AbortSignal>();
    const slow = defineTool({
      name: 'slow',
      description: 'Waits.',
      execute: (_, { signal }) => {
        running.resolve(signal);
        return new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      },
    });
    peer.answers['getCall'] = ({ callId }) => ({ call: { callId, arguments: '{}' } });
    peer.onTurn = (turnId) => peer.append(turnId, requested('c1', 'slow'));
    const run = collect(client.sessions.runTurn('s1', 'Hi', { turnId: 't1', clientTools: [slow] }));
    const signal = await running.promise;
    peer.append('t1', ended('c1'), finished(''));
    await run;
    expect(signal.aborted).toBe(true);
    expect(peer.sent('settleCall')).toEqual([]);
  });
});

describe('run', () => {
  it('makes a session, runs one turn, and gives its text', async () => {
    const seen: string[] = [];
    peer.onTurn = (turnId) => peer.append(turnId, started, ...said('m1', 'Hello.'), finished('message-m1'));
    const result = await client.sessions.run('clerk', 'Hi', {
      metadata: { source: 'tests' },
      onEvent: ({ kind }) => seen.push(kind),
    });
    expect(result).toMatchObject({
      ok: true,
      text: 'Hello.',
      output: undefined,
      iterations: 1,
      usage: { inputTokens: 2, outputTokens: 3 },
      answer: { role: Role.ASSISTANT },
    });
    expect(peer.sent('createSession')).toMatchObject([{ agentId: 'clerk', metadata: { source: 'tests' } }]);
    expect(seen).toContain('turn.ended');
    const [created] = peer.sent('createSession');
    expect(peer.sent('runTurn')).toMatchObject([{ sessionId: created?.['sessionId'] }]);
  });

  it('6.12: parses the output of a task', async () => {
    const task = z.object({ celsius: z.number().transform((value) => `${value} °C`) });
    peer.onTurn = (turnId) => peer.append(turnId, finished('', '{"celsius":21}'));
    const result = await client.sessions.run('clerk', 'Hi', { task });
    expect(result).toMatchObject({ ok: true, output: { celsius: '21 °C' } });
    const [sent] = peer.sent('runTurn');
    const contract = sent?.['task'] as { resultSchemaJson: string };
    expect(JSON.parse(contract.resultSchemaJson)).toMatchObject({
      properties: { celsius: { type: 'number' } },
    });
  });

  it('6.12: parses the output of the task of a defined agent, which the engine knows already', async () => {
    const agent = defineAgent({ id: 'clerk', model: 'x/y', task: z.array(z.string()) });
    peer.onTurn = (turnId) => peer.append(turnId, finished('', '["a"]'));
    const result = await client.sessions.run(agent, 'Hi');
    expect(result).toMatchObject({ ok: true, output: ['a'] });
    expect(peer.sent('runTurn')[0]?.['task']).toBeUndefined();
    peer.onTurn = (turnId) => peer.append(turnId, finished('', '[1]'));
    expect(await client.sessions.run(agent, 'Hi')).toMatchObject({
      ok: false,
      status: 'failed',
      error: { code: 'invalid_output' },
    });
  });

  it('finds a last message that is older than the turn', async () => {
    peer.answers['getSession'] = () => ({ messages: [{ ...userMessage('x'), id: 'old', role: 3 }] });
    peer.onTurn = (turnId) => peer.append(turnId, finished('old'));
    expect(await client.sessions.run('clerk', 'Hi')).toMatchObject({ ok: true, text: 'x' });
  });

  it.each([
    [
      { case: 'failed', value: { code: 'max_iterations', message: 'Too many.' } },
      { ok: false, status: 'failed', error: { code: 'max_iterations', message: 'Too many.' } },
    ],
    [
      { case: 'cancelledReason', value: 'enough' },
      { ok: false, status: 'cancelled', error: { code: 'cancelled', message: 'enough' } },
    ],
    [{ case: undefined }, { ok: false, status: 'failed', error: { code: 'internal' } }],
  ] as const)('gives a turn that did not finish as an outcome: %o', async (outcome, expected) => {
    peer.onTurn = (turnId) => peer.append(turnId, { case: 'turnEnded', value: { outcome } });
    expect(await client.sessions.run('clerk', 'Hi', { sessionId: 's1' })).toMatchObject(expected);
  });

  it('gives a turn that waits as an outcome', async () => {
    peer.answers['getSession'] = () => ({
      session: { lastSequence: peer.sequence, openItems: [{ id: 'i1', name: 'refund' }] },
    });
    peer.onTurn = (turnId) => {
      peer.append(turnId, started, { case: 'interruptRaised', value: { interruptId: 'i1' } });
      peer.pause();
    };
    expect(await client.sessions.run('clerk', 'Hi')).toMatchObject({
      ok: false,
      status: 'paused',
      openItems: [{ id: 'i1' }],
      error: { code: 'paused', message: expect.stringContaining('refund (i1)') },
    });
  });
});
