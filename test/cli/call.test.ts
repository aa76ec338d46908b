import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ended, type Running, serve, spindle, start, temporaryFolder } from './spindle.ts';

let engine: Awaited<ReturnType<typeof serve>>;
let worker: Running;

beforeAll(async () => {
  engine = await serve();
  worker = start(['worker', join(import.meta.dirname, 'tools.ts')], {
    environment: { SPINDLE_ADDRESS: engine.address },
  });
  await worker.says(/serves at/);
});

afterAll(async () => {
  await worker[Symbol.asyncDispose]();
  await engine[Symbol.asyncDispose]();
});

/** A command that finds the engine by its environment, as a shell would have it. */
function client(args: readonly string[], stdin?: string): Promise<Ended> {
  const environment = { SPINDLE_ADDRESS: engine.address };
  return spindle(args, stdin === undefined ? { environment } : { environment, stdin });
}

async function json(args: readonly string[]): Promise<unknown> {
  return JSON.parse((await client([...args, '--json'])).stdout);
}

/** Waits until a call of this id has been made. */
async function begun(callId: string): Promise<void> {
  for (;;) {
    const listed = await json(['calls', '--name', 'wait', '--unfinished']);
    if (JSON.stringify(listed).includes(callId)) return;
  }
}

describe('spindle call', () => {
  it('shows the result on standard output alone', async () => {
    expect(await client(['call', 'greet', '{"name":"Ada"}'])).toEqual({
      code: 0,
      stdout: 'Hello, Ada!\n',
      stderr: '',
    });
  });

  it('reads the arguments from standard input', async () => {
    const { stdout } = await client(['call', 'greet', '-'], '{"name":"Grace"}');
    expect(stdout).toBe('Hello, Grace!\n');
  });

  it('gives a program the end as one JSON value', async () => {
    expect(await json(['call', 'sum', '{"numbers":[1,2]}', '--call-id', 'sum-1'])).toEqual({
      callId: 'sum-1',
      ok: true,
      attempts: 1,
      value: { sum: 3 },
      content: [{ type: 'text', text: '{"sum":3}' }],
    });
  });

  it('leaves with 1 where the call failed, and says with which code', async () => {
    const { code, stdout, stderr } = await client(['call', 'greet', '{"name":7}']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^invalid_arguments: .*\/name must be string/);
    const failed = await client(['call', 'greet', '{"name":7}', '--json']);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({
      ok: false,
      attempts: 1,
      error: { code: 'invalid_arguments', retryable: false, mayHaveTakenEffect: false },
    });
  });

  it('1.1: hands the arguments on as they are, also those that are no JSON', async () => {
    const { code, stderr } = await client(['call', 'greet', '{"name":']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^invalid_arguments/);
  });

  it('shows progress while it waits', async () => {
    const { stdout, stderr } = await client(['call', 'wait', '{"ms":300}']);
    expect(stdout).toBe('waited\n');
    expect(stderr).toBe('0 of 300  Waiting\n');
  });

  it('leaves with 5 once its time to wait is over, and the call goes on', async () => {
    await client(['call', 'wait', '{"ms":60000}', '--start', '--call-id', 'long']);
    const waiting = await client(['call', 'wait', '{"ms":60000}', '--timeout', '50ms', '--call-id', 'long']);
    expect(waiting.code).toBe(5);
    expect(waiting.stderr).toMatch(/call long did not end within 50 ms/i);
    expect(await json(['get', 'long'])).toMatchObject({
      callId: 'long',
      name: 'wait',
      state: 'running',
      attempts: 1,
    });
    const cancelled = await client(['cancel', 'long', '--reason', 'enough']);
    expect(cancelled.code).toBe(0);
    const watched = await client(['watch', 'long', '--json']);
    expect(watched.code).toBe(1);
    expect(JSON.parse(watched.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      kind: 'finished',
      callId: 'long',
      ok: false,
      error: { code: 'cancelled' },
    });
  });

  it('tells a program, too, the id of the call that goes on when its time is over', async () => {
    const { code, stdout, stderr } = await client([
      'call',
      'wait',
      '{"ms":60000}',
      '--timeout',
      '50ms',
      '--json',
    ]);
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    const { error } = JSON.parse(stderr);
    expect(error).toMatchObject({ reason: 'wait_timeout', callId: expect.any(String), exitCode: 5 });
    expect(await json(['cancel', error.callId])).toMatchObject({ callId: error.callId, state: 'ended' });
  });

  describe.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('that gets %s ends the wait alone, and says how to go on,', (signal, exitCode) => {
    it('to a person', async () => {
      await using calling = start(['call', 'wait', '{"ms":60000}', '--address', engine.address]);
      await calling.says(/Waiting/);
      calling.kill(signal);
      const { code, stderr } = await calling.ended;
      expect(code).toBe(exitCode);
      const [, callId = ''] = /and call (\S+) goes on\.\n`spindle watch \1` waits/.exec(stderr) ?? [];
      expect(await json(['cancel', callId])).toMatchObject({ callId, name: 'wait' });
    });

    it('to a program', async () => {
      const callId = `ended-by-${signal}`;
      const args = [
        'call',
        'wait',
        '{"ms":60000}',
        '--call-id',
        callId,
        '--address',
        engine.address,
        '--json',
      ];
      await using calling = start(args);
      await begun(callId);
      calling.kill(signal);
      const { code, stdout, stderr } = await calling.ended;
      expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
      expect(JSON.parse(stderr)).toMatchObject({ error: { reason: 'interrupted', callId, exitCode } });
      expect(await json(['get', callId])).toMatchObject({ state: 'running' });
      await client(['cancel', callId]);
    });
  });

  it('bounds the call itself with --run-timeout', async () => {
    const { code, stderr } = await client(['call', 'wait', '{"ms":60000}', '--run-timeout', '50ms']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/run_timeout/);
  });

  it('4.12: joins the call that has the same id, and refuses another one with 3', async () => {
    await client(['call', 'greet', '{"name":"Ada"}', '--call-id', 'twice']);
    expect(await client(['call', 'greet', '{"name":"Ada"}', '--call-id', 'twice'])).toMatchObject({
      code: 0,
    });
    const other = await client(['call', 'greet', '{"name":"Bob"}', '--call-id', 'twice', '--json']);
    expect(other).toMatchObject({ code: 3, stdout: '' });
    expect(JSON.parse(other.stderr)).toMatchObject({ error: { reason: 'call_id_conflict', exitCode: 3 } });
  });
});

describe('commands for calls and tools', () => {
  it('start a call, show it open, settle it, and list it', async () => {
    const started = await client(['call', 'ask', '--start', '--call-id', 'open-1']);
    expect(started).toMatchObject({ code: 0, stdout: 'open-1\n' });
    await using watching = start(['watch', 'open-1', '--address', engine.address]);
    await watching.says(/waits for an answer from outside/);
    expect(await json(['get', 'open-1'])).toMatchObject({ state: 'open', arguments: '{}' });
    expect(await json(['settle', 'open-1', '--result', '{"yes":true}'])).toEqual({
      callId: 'open-1',
      verdict: 'recorded',
    });
    expect(await watching.ended).toMatchObject({ code: 0, stdout: '{"yes":true}\n' });
    expect((await client(['settle', 'open-1', '--text', 'no'])).code).toBe(3);
    expect(await json(['calls', '--name', 'ask'])).toMatchObject([
      { callId: 'open-1', state: 'ended', end: { ok: true, value: { yes: true } } },
    ]);
  });

  it('list tools with their arguments, and find them by what they do', async () => {
    const { stdout } = await client(['tools']);
    expect(stdout).toMatch(/^TOOL +WORKERS +WHAT IT DOES\n/);
    expect(stdout).toMatch(/^greet\(name, loud\?\) +1 +Greets somebody by name\.$/m);
    expect(await json(['tools', 's?m'])).toMatchObject([
      { name: 'sum', workers: 1, inputSchema: { type: 'object' } },
    ]);
    expect(await json(['tools', '--search', 'draws', '--max', '1'])).toMatchObject([{ name: 'draw' }]);
    const { stdout: diagnosed } = await client(['tools', '--diagnose', 'greet']);
    expect(diagnosed).toBe('greet\n  is told whole to every provider\n');
    expect(await client(['tools', 'nothing*'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No tool matches.\n',
    });
  });

  it('hand no control character of a tool on to a terminal', async () => {
    const printed = [
      await client(['tools', 'steer']),
      await client(['call', 'steer']),
      await client(['calls']),
    ];
    const text = printed.map(({ stdout, stderr }) => stdout + stderr).join('');
    expect(text).toContain('steer(a [2Jb c?)');
    expect(text).toMatch(/^bell.*: red/m);
    expect(text.match(/[^\P{Cc}\n]/gu)).toBeNull();
  });

  it('write the bytes of a blob', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'picture');
    const end = await json(['call', 'draw']);
    expect(end).toMatchObject({ content: [{ type: 'blob', mimeType: 'image/png', sizeBytes: 3 }] });
    const [, uri = ''] = /"uri":"([^"]+)"/.exec(JSON.stringify(end)) ?? [];
    expect((await client(['blob', uri, '--output', file])).code).toBe(0);
    expect([...(await readFile(file))]).toEqual([1, 2, 3]);
  });

  it('write a blob for programs, and make no file for one that nobody has', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'picture');
    const [, uri = ''] = /"uri":"([^"]+)"/.exec(JSON.stringify(await json(['call', 'draw']))) ?? [];
    expect(await json(['blob', uri])).toEqual({ uri, sizeBytes: 3, data: 'AQID' });
    expect(await json(['blob', uri, '-o', file])).toEqual({ uri, sizeBytes: 3, output: file });
    const missing = await client(['blob', `${uri.slice(0, -4)}0000`, '-o', join(folder.path, 'missing')]);
    expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('blob_not_found') });
    expect(await readdir(folder.path)).toEqual(['picture']);
    const nowhere = await client(['blob', uri, '-o', join(folder.path, 'no', 'picture')]);
    expect(nowhere).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/picture cannot be written: ENOENT.*folder/s),
    });
  });

  it('leave with 3 where the engine refuses, and name the reason', async () => {
    const { code, stdout, stderr } = await client(['get', 'nobody']);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/no call "nobody".*call_not_found, NOT_FOUND/s);
  });

  it.each([['tools'], ['call', 'greet', '{}'], ['get', 'x']])(
    'leave with 4 where no engine answers, and say how to start one: %s',
    async (...args) => {
      const { code, stdout, stderr } = await spindle([...args, '--address', '127.0.0.1:1']);
      expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
      expect(stderr).toBe(
        'spindle: No engine answers at 127.0.0.1:1.\n' +
          'Start one with `spindle serve`, or name another with --address or SPINDLE_ADDRESS.\n',
      );
    },
  );

  it.each([
    [['call'], /missing required argument 'name'/],
    [['call', 'greet', '{}', '--timeout', 'soon'], /500ms, 30s, 5m/],
    [['call', 'greet', '{}', '--attempts', '0'], /whole number from 1 to 100/],
    [['call', 'greet', '{}', '--attempts', '101'], /whole number from 1 to 100/],
    [['call', 'greet', '{}', '--run-timeout', '400d'], /at most 366 days/],
    [['call', 'greet', '{}', '--call-id', ''], /this one is empty/],
    [['settle', 'x', '--text', '', '--attempt', '99999999999'], /whole number from 1 to 100/],
    [['calls', '--limit', '0'], /whole number above 0/],
    [['settle', 'x'], /one of --result, --text and --error/],
    [['settle', 'x', '--result', '{'], /--result is not JSON/],
    [['dance'], /unknown command 'dance'/],
    [['tools', '--address', 'nowhere'], /--address: expected HOST:PORT/],
  ] as const)('leave with 2 for a command line that cannot be used: %j', async (args, message) => {
    const { code, stderr } = await spindle(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it.each([
    [[], 'spindle: SPINDLE_ADRESS is no setting'],
    [['--json'], '{"warning":"SPINDLE_ADRESS is no setting'],
  ])('warn of a variable that is no setting, and go on: %j', async (flags, warning) => {
    const environment = { SPINDLE_ADDRESS: engine.address, SPINDLE_ADRESS: 'x' };
    const { code, stderr } = await spindle(['tools', ...flags], { environment });
    expect(code).toBe(0);
    expect(stderr).toContain(warning);
  });

  it('say that a port is not that of gRPC', async () => {
    await using other = await serve(['--http', '127.0.0.1:0']);
    const http = await other.says(/http=(\S+:\d+)/);
    const { code, stderr } = await spindle(['tools', '--address', http[1] ?? '']);
    expect(code).toBe(4);
    expect(stderr).toMatch(/is no gRPC port\.\nName the address behind `grpc=`/);
  });

  it('say in the words of the contract which field is wrong', async () => {
    const { code, stdout, stderr } = await client(['call', 'a b']);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/^spindle: Name must be 1 to 256 printable/);
    expect((await client(['get', 'a b'])).stderr).toMatch(/^spindle: call_id must be 1 to 128/);
  });

  it('explain themselves, and the exit codes', async () => {
    const { code, stdout } = await spindle(['--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/spindle serve .*Exit codes:.*4 +no engine answers/s);
    expect((await spindle(['call', '--help'])).stdout).toMatch(
      /--call-id .*call_id_conflict.*7 days.*Examples:/s,
    );
  });

  it.each([
    'serve',
    'worker',
    'run',
    'sessions',
    'events',
    'resume',
    'tools',
    'call',
    'calls',
    'get',
    'watch',
    'cancel',
    'settle',
    'blob',
    'mcp',
    'token',
    'conformance',
    '',
  ])('explain themselves within 80 columns: %s', async (name) => {
    const { stdout } = await spindle([name, '--help'].filter((word) => word !== ''));
    expect(stdout).toMatch(/^Usage: /);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});
