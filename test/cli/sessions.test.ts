import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentEngine, agentEngine } from './agent-engine.ts';
import { start } from './spindle.ts';

let engine: AgentEngine;
beforeAll(async () => {
  engine = await agentEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

/** Runs a turn that comes to wait for somebody, and gives what it waits for. */
async function waiting(message: string, session: string): Promise<{ readonly id: string }> {
  const lines = await engine.lines(['run', 'clerk', message, '--session', session]);
  const { openItems } = { openItems: [] as { id: string }[], ...lines.at(-1) };
  expect(openItems).toHaveLength(1);
  return openItems[0] ?? { id: '' };
}

/** How the turn of a session ended, once it has. */
async function outcome(session: string): Promise<string> {
  await using following = start(['events', session, '--follow'], engine);
  const [, text = ''] = await following.says(/turn\.ended +(.*)/);
  return text;
}

/** How its call of a tool ended. */
async function ends(session: string): Promise<readonly unknown[]> {
  const events = await engine.lines(['events', session]);
  return events.filter(({ kind }) => kind === 'tool.call.finished').map(({ data }) => data);
}

describe('spindle resume', () => {
  it('6.11: lets an approved call run, once', async () => {
    const { id } = await waiting('Pay order 7.', 'approved');
    expect(await engine.run(['resume', 'approved', id])).toMatchObject({ code: 0, stdout: 'resumed\n' });
    expect(await outcome('approved')).toBe('finished');
    expect(JSON.stringify(await ends('approved'))).toContain('paid 7');
    const again = await engine.run(['resume', 'approved', id, '--deny', 'No.', '--json']);
    expect(again.code).toBe(3);
    expect(JSON.parse(again.stdout)).toEqual({ sessionId: 'approved', interruptId: id, resumed: false });
  });

  it('6.11: ends a denied call with denied, and the reason for the model', async () => {
    const { id } = await waiting('Pay order 7.', 'denied');
    expect((await engine.run(['resume', 'denied', id, '--deny', 'Too much.'])).stdout).toBe('denied\n');
    expect(await outcome('denied')).toBe('finished');
    expect(await ends('denied')).toMatchObject([{ error: { code: 'denied', message: 'Too much.' } }]);
  });

  it('6.11: hands an answer to the handler that asked for one', async () => {
    const { id } = await waiting('Pack order 7.', 'answered');
    await engine.run(['resume', 'answered', id, '--answer', '{"place":"Oslo"}']);
    await outcome('answered');
    expect(JSON.stringify(await ends('answered'))).toContain('Oslo');
  });

  it('6.11: answers a direct call, by the command that the wait for it names', async () => {
    await using calling = start(['call', 'pack_order', '{"number":7}', '--call-id', 'direct'], engine);
    const [, interruptId = ''] = await calling.says(/^ {2}spindle resume call:direct (\S+)$/m);
    await engine.run(['resume', 'call:direct', interruptId, '--answer', '"Lima"']);
    expect(await calling.ended).toMatchObject({ code: 0, stdout: 'packed 7 at "Lima"\n' });
  });

  it.each([
    ['an answer that is no JSON', ['--answer', 'Oslo'], /--answer is not JSON/],
    ['an answer and a denial', ['--answer', '1', '--deny', 'No.'], /Give one of/],
  ])('leaves with 2 for %s', async (_, options, message) => {
    const { code, stderr } = await engine.run(['resume', 'some', 'one', ...options]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});

describe('the commands about calls', () => {
  it('4.9: settle a call of a session that was deferred, and the turn goes on', async () => {
    const { id } = await waiting('Ship order 7.', 'shipped');
    const place = ['--session', 'shipped'];
    expect(await engine.lines(['get', id, ...place])).toMatchObject([{ name: 'ship_order', state: 'open' }]);
    const settled = await engine.run(['settle', id, ...place, '--text', 'It is on its way.']);
    expect(settled).toMatchObject({ code: 0, stdout: 'recorded\n' });
    expect(await outcome('shipped')).toBe('finished');
    const [end] = await engine.lines(['watch', id, ...place]);
    expect(end).toMatchObject({ kind: 'finished', ok: true });
  });

  it('4.10: cancel a call of a session, and the turn goes on', async () => {
    const { id } = await waiting('Ship order 8.', 'called-off');
    const { code } = await engine.run(['cancel', id, '--session', 'called-off', '--reason', 'Sold out.']);
    expect(code).toBe(0);
    expect(await outcome('called-off')).toBe('finished');
    expect(await ends('called-off')).toMatchObject([{ error: { code: 'cancelled' } }]);
  });

  it('6.14: cancel a turn that waits', async () => {
    await waiting('Ship order 9.', 'given-up');
    expect((await engine.run(['cancel', '--session', 'given-up'])).stdout).toMatch(/^cancelled turn \S+\n$/);
    expect(await outcome('given-up')).toMatch(/^cancelled/);
    expect((await engine.run(['cancel', '--session', 'given-up'])).stdout).toBe('no turn runs\n');
    expect((await engine.run(['cancel'])).code).toBe(2);
  });
});

describe('spindle sessions', () => {
  it('lists what waits, with the command that answers it', async () => {
    const { id } = await waiting('Pack order 1.', 'packing');
    await engine.run(['run', 'clerk', 'Find order 1.', '--session', 'found']);
    const { stdout } = await engine.run(['sessions', '--waiting']);
    expect(stdout).toContain(`      spindle resume packing ${id}\n`);
    expect(stdout).toContain('pack_order waits for a person');
    expect(stdout).not.toContain('found');
    // What turns the direction of writing would show a person something else than there is.
    expect(stdout).not.toContain('\u202e');
    expect((await engine.run(['sessions'])).stdout).toMatch(/^found +clerk +\S+Z +idle\npacking .*waits$/m);
    const [sessions] = await engine.lines(['sessions', '--waiting', '--limit', '1']);
    expect(sessions).toMatchObject([{ sessionId: 'packing', openItems: [{ id, name: 'pack_order' }] }]);
  });
});

describe('spindle events', () => {
  it('shows an event a line, and those behind a number', async () => {
    await engine.run(['run', 'clerk', 'Find order 700.', '--session', 'told']);
    const { stdout } = await engine.run(['events', 'told']);
    expect(stdout).toMatch(/^ +1 {2}[\d:.]{12} {2}session\.created +agent clerk$/m);
    expect(stdout).toMatch(/tool\.call\.requested +find_order \{"number":700\}$/m);
    expect(stdout).toMatch(/tool\.call\.finished +find_order failed, not_found: There is no order 700\.$/m);
    const all = await engine.lines(['events', 'told']);
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => index + 1));
    expect(await engine.lines(['events', 'told', '--after', '5'])).toEqual(all.slice(5));
  });

  it('leaves with 3 for a session that there is not', async () => {
    expect(await engine.run(['events', 'nothing'])).toMatchObject({ code: 3, stdout: '' });
  });
});
