import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import {
  agentConfig,
  type Client,
  createClient,
  defineAgent,
  type SessionUpdateEvent,
  userMessage,
} from '../../../src/sdk/index.ts';
import { type SessionPeer, said, started, startSessionPeer, status } from './session-peer.ts';

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

describe('sessions', () => {
  it('are created for an agent, by its id or as it is defined, under an id that makes it safe to repeat', async () => {
    let tries = 0;
    peer.answers['createSession'] = ({ sessionId, agentId }) => {
      tries += 1;
      if (tries === 1) throw status(14);
      return { session: { sessionId, agentId } };
    };
    const clerk = defineAgent({ id: 'clerk', model: 'x/y' });
    const config = agentConfig({ model: 'x/other' });
    const session = await client.sessions.create(clerk, { config, metadata: { from: 'tests' } });
    expect(session).toMatchObject({ agentId: 'clerk', sessionId: expect.stringMatching(/.{20}/) });
    const [first, second] = peer.sent('createSession');
    expect(second).toEqual(first);
    expect(first).toMatchObject({
      agentId: 'clerk',
      agent: { model: 'x/other' },
      metadata: { from: 'tests' },
    });
    expect(await client.sessions.create('clerk', { sessionId: 'mine' })).toMatchObject({ sessionId: 'mine' });
  });

  it('are read with their state, and with their messages where one asks for them', async () => {
    peer.answers['getSession'] = ({ includeMessages }) => ({
      session: { sessionId: 's1' },
      stateJson: '{"count":1}',
      messages: includeMessages === true ? [userMessage('Hi')] : [],
    });
    expect(await client.sessions.get('s1')).toMatchObject({ state: { count: 1 }, messages: [] });
    expect(await client.sessions.get('s1', { messages: true })).toMatchObject({
      session: { sessionId: 's1' },
      messages: [{ role: Role.USER }],
    });
    peer.answers['getSession'] = () => ({ session: {} });
    expect((await client.sessions.get('s1')).state).toBeUndefined();
  });

  it('are listed page by page', async () => {
    peer.answers['listSessions'] = ({ pageToken }) => ({
      sessions: [{ sessionId: `s${String(pageToken)}` }],
      nextPageToken: pageToken === '' ? '2' : '',
    });
    const ids: string[] = [];
    for await (const { sessionId } of client.sessions.list({ onlyWaiting: true })) ids.push(sessionId);
    expect(ids).toEqual(['s', 's2']);
    expect(peer.sent('listSessions')).toMatchObject([{ onlyWaiting: true }, { pageToken: '2' }]);
  });

  it('start turns without waiting for them', async () => {
    peer.answers['startTurn'] = ({ turnId }) => ({ turnId, queued: true, turnAfterSequence: 7 });
    const task = { result: z.string(), maxReminders: 2 };
    expect(await client.sessions.startTurn('s1', 'Hi', { turnId: 't1', task })).toEqual({
      sessionId: 's1',
      turnId: 't1',
      queued: true,
      existing: false,
      afterSequence: 7,
    });
    expect(peer.sent('startTurn')).toMatchObject([{ turnId: 't1', task: { maxReminders: 2 } }]);
  });

  it('tell how a turn stands, and how it ended', async () => {
    expect(await client.sessions.getTurn('s1', 't1')).toMatchObject({ queued: false, result: undefined });
    const answer = { ...userMessage('Hello.'), id: 'm', role: Role.ASSISTANT };
    const finished = { answer, outputJson: '3', iterations: 2 };
    peer.answers['getTurn'] = () => ({ ended: { outcome: { case: 'finished', value: finished } } });
    expect(await client.sessions.getTurn('s1', 't1', { task: z.int() })).toMatchObject({
      result: { ok: true, turnId: 't1', text: 'Hello.', output: 3, iterations: 2 },
    });
    // Some engines name the message and no more.
    const named = { ...finished, answer: { id: 'm' } };
    peer.answers['getTurn'] = () => ({ ended: { outcome: { case: 'finished', value: named } } });
    peer.answers['getSession'] = () => ({ messages: [answer] });
    expect(await client.sessions.getTurn('s1', 't1')).toMatchObject({ result: { text: 'Hello.' } });
  });

  it('6.11: take the answer to an interrupt', async () => {
    expect(await client.sessions.resume('s1', 'i1', { resume: { yes: true } })).toBe(true);
    peer.answers['resumeInterrupt'] = () => ({ alreadyResumed: true });
    expect(await client.sessions.resume('s1', 'i1', { deny: 'no' })).toBe(false);
    expect(peer.sent('resumeInterrupt')).toMatchObject([
      { sessionId: 's1', interruptId: 'i1', payloadJson: '{"yes":true}' },
      { denyReason: 'no' },
    ]);
    await expect(client.sessions.resume('s1', 'i1', {} as never)).rejects.toThrow(
      /resume: value.*deny: reason/,
    );
  });

  it('stop a turn, and are deleted', async () => {
    peer.answers['cancelTurn'] = ({ turnId }) => ({ turnId });
    expect(await client.sessions.cancel('s1', { turnId: 't1', reason: 'enough' })).toBe('t1');
    expect(await client.sessions.cancel('s1')).toBeUndefined();
    await client.sessions.delete('s1');
    expect(peer.sent('cancelTurn')).toMatchObject([{ turnId: 't1', reason: 'enough' }, { turnId: '' }]);
    expect(peer.sent('deleteSession')).toMatchObject([{ sessionId: 's1' }]);
  });

  it('4.8: say why they refuse', async () => {
    peer.answers['createSession'] = () => {
      throw status(3, 'agent.model has to be provider/model');
    };
    await expect(client.sessions.create('clerk')).rejects.toMatchObject({
      name: 'SpindleError',
      code: 'INVALID_ARGUMENT',
    });
    await expect(client.sessions.create('clerk', { metdata: {} } as object)).rejects.toThrow(
      /did you mean metadata/,
    );
  });
});

describe('a session that is watched', () => {
  it('gives its events from a cursor on, across broken streams, and deltas where one asks for them', async () => {
    peer.append('t1', started, ...said('m1', 'One'));
    const controller = new AbortController();
    const events: SessionUpdateEvent[] = [];
    const watch = async () => {
      const options = { afterSequence: 2, deltas: true, signal: controller.signal };
      for await (const event of client.sessions.watch('s1', options)) {
        events.push(event);
        if (events.length === 2) {
          peer.break(14);
          peer.append('t2', started);
        }
        if (events.length === 3) peer.delta({ callId: 'm2', kind: { case: 'text', value: 'Hi' } });
        if (events.length === 4) controller.abort(new Error('seen enough'));
      }
    };
    await expect(watch()).rejects.toThrow('seen enough');
    expect(events).toMatchObject([
      { sequence: 3, turnId: 't1' },
      { sequence: 4 },
      { sequence: 5, kind: 'turn.started', turnId: 't2' },
      { kind: 'text', text: 'Hi' },
    ]);
    expect(peer.sent('watchSession')).toMatchObject([
      { afterSequence: 2, includeDeltas: true },
      { afterSequence: 4, includeDeltas: true },
    ]);
  });
});
