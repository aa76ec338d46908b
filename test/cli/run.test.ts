import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentEngine, agentEngine } from './agent-engine.ts';
import { spindle, start, temporaryFolder } from './spindle.ts';

let engine: AgentEngine;
beforeAll(async () => {
  engine = await agentEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

/** The kinds of the events of a session, in order. */
async function kinds(sessionId: string): Promise<readonly unknown[]> {
  return (await engine.lines(['events', sessionId])).map(({ kind }) => kind);
}

describe('spindle run', () => {
  it('6.1: prints the answer alone on standard output, and what the tools did on standard error', async () => {
    const { code, stdout, stderr } = await engine.run(['run', 'clerk', 'Find orders 7 and 8.']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\b70\b.*\b80\b.*\n$/s);
    // What a tool says that it does may be missing (6.13): then its arguments stand there.
    expect(stderr).toMatch(/^ {2}✓ find_order {2}(?:Looking for order 7|\{"number":7\}) {2}\d+ ms$/m);
    expect(stderr).toMatch(/^ {2}✓ find_order {2}(?:Looking for order 8|\{"number":8\}) {2}\d+ ms$/m);
    expect(stdout).not.toContain('find_order');
  });

  it('6.7: shows how a call failed; the turn goes on', async () => {
    const { code, stderr } = await engine.run(['run', 'clerk', 'Find order 700.']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^ {2}✗ find_order {2}not_found: There is no order 700\. {2}\d+ ms$/m);
  });

  it('leaves with 1 where the turn failed, and says with which code', async () => {
    const { code, stdout, stderr } = await engine.run(['run', 'failing', 'Hello?']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^refused: It does not want to\.$/m);
  });

  it('reads the message from standard input', async () => {
    expect((await engine.run(['run', 'clerk', '-'], 'Find order 9.')).stdout).toMatch(/\b90\b/);
  });

  it('gives a program each event on a line, and how the turn ended on the last', async () => {
    const lines = await engine.lines(['run', 'clerk', 'Find order 7.', '--session', 'for-programs']);
    expect(lines.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['turn.started', 'tool.call.finished', 'text', 'turn.ended']),
    );
    expect(lines.at(-1)).toMatchObject({
      kind: 'result',
      sessionId: 'for-programs',
      ok: true,
      text: expect.stringMatching(/\b70\b/),
      iterations: 2,
    });
  });

  it('6.14: goes on in a session, and does no turn of one id twice', async () => {
    const first = ['run', 'clerk', 'Find order 7.', '--session', 'long', '--turn', 'one'];
    const { stdout } = await engine.run(first);
    expect(await engine.run(first)).toMatchObject({ code: 0, stdout });
    await engine.run(['run', 'clerk', 'Find order 8.', '--session', 'long']);
    const started = (await kinds('long')).filter((kind) => kind === 'turn.started');
    expect(started).toHaveLength(2);
  });

  it('6.12: prints the value of a task, and nothing else', async () => {
    await using folder = await temporaryFolder();
    const schema = join(folder.path, 'total.json');
    const total = { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] };
    await writeFile(schema, JSON.stringify(total));
    const { code, stdout } = await engine.run(['run', 'clerk', 'Find order 7.', '--task', schema]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ total: 70 });
    await writeFile(schema, 'total');
    expect(await engine.run(['run', 'clerk', 'Find order 7.', '--task', schema])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is no JSON Schema that can be read'),
    });
  });

  it('6.11: leaves with 9 where the turn waits, and names the command that answers', async () => {
    const { code, stderr } = await engine.run(['run', 'clerk', 'Pay order 7.', '--session', 'paying']);
    expect(code).toBe(9);
    const [, interruptId = ''] = /spindle resume paying (\S+)/.exec(stderr) ?? [];
    expect((await engine.run(['resume', 'paying', interruptId])).stdout).toBe('resumed\n');
  });

  it.each([
    ['there is no such agent', ['run', 'nobody', 'Hello?'], 3, /No agent is called "nobody"/],
    ['the message is empty', ['run', 'clerk', ' '], 2, /The message is empty/],
    ['no engine answers', ['run', 'clerk', 'Hi', '--address', '127.0.0.1:1'], 4, /No engine answers/],
  ])('says so where %s', async (_, args, code, message) => {
    expect(await engine.run(args)).toMatchObject({ code, stderr: expect.stringMatching(message) });
  });

  it('4.10: cancels the turn at Ctrl-C, and says how to go on', async () => {
    await using running = start(['run', 'clerk', 'Wait 5 minutes.', '--session', 'stopped'], engine);
    await running.says(/Waiting/);
    running.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/✗ wait_minutes {2}cancelled/);
    expect(stderr).toContain("spindle run clerk --session stopped '…'");
    expect(await engine.lines(['events', 'stopped'])).toContainEqual(
      expect.objectContaining({ kind: 'turn.ended', data: { cancelledReason: 'Ctrl-C' } }),
    );
  });

  it.each([
    ['SIGTERM', 143, []],
    ['the end of its time', 5, ['--timeout', '600ms']],
  ] as const)('leaves the turn alone at %s, and says how to stop it', async (how, exitCode, options) => {
    const sessionId = `goes-on-${exitCode}`;
    const args = ['run', 'clerk', 'Wait 5 minutes.', '--session', sessionId, ...options, '--json'];
    await using running = start(args, engine);
    await running.says(/tool\.call\.dispatched/);
    for (const signal of how === 'SIGTERM' ? [how] : []) running.kill(signal);
    const { code, stderr } = await running.ended;
    expect(code).toBe(exitCode);
    const { error } = JSON.parse(stderr);
    expect(error).toMatchObject({ sessionId, turnId: expect.any(String), exitCode });
    expect(await kinds(sessionId)).not.toContain('turn.ended');
    const cancelled = await spindle(['cancel', '--session', sessionId], engine);
    expect(cancelled.stdout).toBe(`cancelled turn ${error.turnId}\n`);
  });
});
