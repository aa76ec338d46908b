import { describe, expect, it } from 'vitest';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { openItems } from '../../../src/engine/loop/session-message.ts';
import { loopWorld, textResult } from './loop-world.ts';

const PAY = {
  name: 'pay',
  description: 'Pays.',
  inputSchemaJson: JSON.stringify({ type: 'object', properties: { amount: { type: 'integer' } } }),
};
const READ = { name: 'read', description: 'Reads.', annotations: { readOnly: true } };
const HELLO = { instanceId: 'w', streamNumber: 1, tools: [{ tool: PAY }, { tool: READ }] };

describe('calls that wait for somebody', () => {
  it('6.11: of two calls of one response, the approved one runs and the denied one does not', async () => {
    const world = await loopWorld([
      {
        calls: [
          { id: 'a', name: 'pay', arguments: '{"amount": 1}' },
          { id: 'b', name: 'pay', arguments: '{"amount": 2}' },
          { id: 'c', name: 'read', arguments: {} },
        ],
      },
      'Done.',
    ]);
    const ran: string[] = [];
    await world.worker(HELLO, ({ callId }) => {
      ran.push(callId);
      return textResult('ok');
    });
    await world.start({ approval: { names: ['pay'] } });
    await world.say('Pay both.');
    const waiting = await world.session();
    const items = openItems(waiting);
    expect(items).toMatchObject([
      { callId: 'a', name: 'pay', payloadJson: JSON.stringify({ tool: 'pay', arguments: '{"amount": 1}' }) },
      { callId: 'b' },
    ]);
    expect(ran).toEqual(['c']);
    const [first, second] = items;
    expect(await world.resume(first?.id ?? '', { payloadJson: 'true' })).toEqual({ ok: true, value: false });
    expect(await world.resume(first?.id ?? '', { payloadJson: 'true' })).toEqual({ ok: true, value: true });
    expect(ran).toEqual(['c', 'a']);
    expect(await world.resume(second?.id ?? '', { denyReason: 'Too much.' })).toMatchObject({ ok: true });
    expect(ran).toEqual(['c', 'a']);
    expect(await world.ended()).toMatchObject({ case: 'finished' });
    expect(world.requests[1]?.messages.at(-1)?.role).toBe(Role.TOOL);
  });

  it('6.9: a client-side call is open until a message of its owner settles it', async () => {
    const world = await loopWorld([{ calls: [{ id: 'a', name: 'locate', arguments: {} }] }, 'You are here.']);
    await world.start({ useTools: [] });
    const message = { role: Role.USER, parts: [part('Where am I?')] };
    await world.say('', {
      input: {
        kind: {
          case: 'messages',
          value: {
            messages: [message],
            clientTools: [
              { name: 'locate', description: 'Where the client is.', handler: ToolHandler.CLIENT },
            ],
          },
        },
      },
    });
    expect(openItems(await world.session())).toMatchObject([{ callId: 'a', name: 'locate' }]);
    const answer = {
      role: Role.TOOL,
      parts: [
        {
          kind: {
            case: 'toolResult' as const,
            value: {
              callId: 'a',
              outcome: {
                case: 'result' as const,
                value: { content: [{ kind: { case: 'text' as const, value: { text: 'Oslo' } } }] },
              },
            },
          },
        },
      ],
    };
    const settled = await world.say('', {
      turnId: '',
      input: { kind: { case: 'messages', value: { messages: [answer] } } },
    });
    expect(settled).toMatchObject({ ok: true, value: { turnId: 'turn', existing: true } });
    expect(await world.ended()).toMatchObject({ case: 'finished' });
  });

  it('6.10: a subagent is a session of its own, and its answer is the result of the call', async () => {
    const world = await loopWorld([
      { calls: [{ id: 'a', name: 'researcher', arguments: { message: 'Find out.' } }] },
      'Found.',
      'The researcher found it.',
    ]);
    world.agents.set('researcher', { useTools: [] });
    await world.start({ useTools: [], subagents: [{ agentId: 'researcher', description: 'Finds out.' }] });
    await world.say('Find out.');
    expect(await world.ended()).toMatchObject({ case: 'finished', value: { iterations: 2 } });
    const result = (await world.session()).calls.get('a');
    expect(result?.phase).toMatchObject({ kind: 'finished', end: { outcome: { case: 'result' } } });
  });

  it('6.8: a deferred tool is found by a search, and called under its own name', async () => {
    const world = await loopWorld([
      { calls: [{ name: 'tool_search', arguments: { query: 'pay' } }] },
      {
        calls: [
          {
            id: 'b',
            name: 'call_tool',
            arguments: '{"name": "pay", "arguments": {"amount": 12345678901234567890}}',
          },
        ],
      },
      'Paid.',
    ]);
    const seen: string[] = [];
    await world.worker(HELLO, ({ name, arguments: text }) => {
      seen.push(`${name} ${text}`);
      return textResult('ok');
    });
    await world.start({ deferTools: {} });
    await world.say('Pay.');
    expect(await world.ended()).toMatchObject({ case: 'finished' });
    expect(world.requests[0]?.tools.map(({ name }) => name)).toEqual(['tool_search', 'call_tool']);
    expect(seen).toEqual(['pay {"amount":12345678901234567890}']);
  });

  it('6.12: a task ends with the value that matches its contract', async () => {
    const world = await loopWorld([
      'I think it is 7.',
      { calls: [{ name: 'submit_result', arguments: { result: 'seven' } }] },
      { calls: [{ name: 'submit_result', arguments: { result: 7 } }] },
    ]);
    await world.start({ useTools: [], task: { resultSchemaJson: '{"type": "integer"}' } });
    await world.say('How many?');
    expect(await world.ended()).toMatchObject({ case: 'finished', value: { outputJson: '7' } });
  });
});

function part(text: string) {
  return { kind: { case: 'content' as const, value: { kind: { case: 'text' as const, value: { text } } } } };
}
