import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentEngine, agentEngine } from './agent-engine.ts';
import { terminal } from './terminal.ts';

let engine: AgentEngine;
beforeAll(async () => {
  engine = await agentEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

function run(agent: string, message: string, session: string) {
  return terminal(['run', agent, message, '--session', session], engine.environment);
}

/** How the calls of a session ended. */
async function ends(session: string): Promise<readonly unknown[]> {
  const events = await engine.lines(['events', session]);
  return events.filter(({ kind }) => kind === 'tool.call.finished').map(({ data }) => data);
}

/** What a terminal would do besides writing lines. The line that is written anew is ours. */
function steering(shown: string): readonly string[] {
  return shown.replaceAll('\u001b[2K', '').match(/(?!\r|\n)\p{Cc}/gu) ?? [];
}

describe.runIf(process.platform === 'linux')('spindle run in a terminal', () => {
  it('6.11: asks what waits for approval, with all of its arguments, and runs it after a yes', async () => {
    await using shown = run('clerk', 'Pay order 7.', 'yes');
    await shown.shows(/pay_order wants to run:\s+\{\s+"number": 7\s+\}/);
    await shown.shows(/Run it\? \[y\]es, \[n\]o: /);
    shown.type('what?\r');
    await shown.shows(/Run it\? \[y\]es, \[n\]o: /);
    shown.type('y\r');
    await shown.shows(/✓ pay_order/);
    expect((await shown.ended).code).toBe(0);
    expect(JSON.stringify(await ends('yes'))).toContain('paid 7');
  });

  it('6.11: asks for one after the other, and gives the model the reason of a no', async () => {
    await using shown = run('clerk', 'Pay orders 7 and 8.', 'both');
    await shown.shows(/"number": 7\s+\}[\s\S]*Run it/);
    shown.type('n\r');
    await shown.shows(/Why not\?/);
    shown.type('Not today.\r');
    await shown.shows(/"number": 8\s+\}[\s\S]*Run it/);
    shown.type('yes\r');
    await shown.shows(/✓ pay_order/);
    expect((await shown.ended).code).toBe(0);
    const outcomes = JSON.stringify(await ends('both'));
    expect(outcomes).toContain('Not today.');
    expect(outcomes).toContain('paid 8');
  });

  it('6.11: takes an answer in words, and shows no text that reads otherwise than it is', async () => {
    await using shown = run('clerk', 'Pack order 7.', 'words');
    await shown.shows(/pack_order asks: which_place/);
    await shown.shows(/or an answer: /);
    shown.type('Oslo\r');
    expect(await shown.ended).toMatchObject({ code: 0, shown: expect.not.stringContaining('\u202e') });
    expect(JSON.stringify(await ends('words'))).toContain('Oslo');
  });

  it('6.11: leaves open what nobody answers', async () => {
    await using shown = run('clerk', 'Pay order 9.', 'nobody');
    await shown.shows(/Run it/);
    shown.type('\u0004');
    await shown.shows(/spindle resume nobody interrupt-\d+/);
    expect((await shown.ended).code).toBe(9);
  });

  it('4.10: cancels the turn at Ctrl-C, also while it asks', async () => {
    await using shown = run('clerk', 'Pay order 9.', 'stopped');
    await shown.shows(/Run it/);
    shown.type('\u0003');
    await shown.shows(/The turn is cancelled/);
    expect((await shown.ended).code).toBe(130);
    expect(await ends('stopped')).toMatchObject([{ error: { code: 'cancelled' } }]);
  });

  it('lets no text of a model steer it, and keeps to its width', async () => {
    await using steered = run('steering', 'Find it.', 'steering');
    const { code, shown } = await steered.ended;
    expect(code).toBe(0);
    expect(shown).toContain('Looking�[2J�]0;owned� done');
    expect(steering(shown)).toEqual([]);
    const lines = shown.split(/\r\n|\r/).filter((line) => line.length > 80);
    expect(lines).toEqual([]);
  });
});
