import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serve, spindle, start, temporaryFolder } from './spindle.ts';

const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http', 'off'];

describe('spindle serve', () => {
  it('prints one line once it serves, keeps its journal where the line says, and leaves with 0 on SIGTERM', async () => {
    await using folder = await temporaryFolder();
    await using engine = start(['serve', '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0'], {
      folder: folder.path,
    });
    const [, http = ''] = await engine.says(/^spindle ready .* http=(\S+)/m);
    expect((await fetch(`http://${http}/`)).status).toBe(200);
    engine.kill('SIGTERM');
    const { code, stdout, stderr } = await engine.ended;
    expect(stdout).toMatch(
      /^spindle ready grpc=127\.0\.0\.1:\d+ http=127\.0\.0\.1:\d+ journal=sqlite:\.\/spindle-data\/spindle\.db\n$/,
    );
    expect(code).toBe(0);
    const events = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events).toMatchObject([
      { level: 'info', event: 'stopping', reason: 'SIGTERM' },
      { level: 'info', event: 'stopped' },
    ]);
    expect((await readFile(join(folder.path, 'spindle-data/spindle.db'))).length).toBeGreaterThan(0);
  });

  it('warns in its log of a variable that is no setting', async () => {
    await using engine = await serve([], { environment: { SPINDLE_RETAINS: '1d' } });
    await engine.says(/SPINDLE_RETAINS is no setting .* SPINDLE_RETAIN\..*"event":"unknown_variable"/);
  });

  it('ends at once on a second signal', async () => {
    await using engine = await serve();
    await using worker = start([
      'worker',
      join(import.meta.dirname, 'tools.ts'),
      '--address',
      engine.address,
    ]);
    await worker.says(/serves at/);
    await spindle(['call', 'wait', '{"ms":60000}', '--start', '--address', engine.address]);
    engine.kill('SIGTERM');
    await engine.says(/"stopping"/);
    engine.kill('SIGTERM');
    expect((await engine.ended).code).toBe(143);
    worker.kill('SIGKILL');
  });

  it('7.3: refuses a journal that another engine has, with exit code 7', async () => {
    await using folder = await temporaryFolder();
    const journal = ['--journal', 'sqlite:own.db'];
    await using _ = await serve(journal, { folder: folder.path });
    const second = await spindle(['serve', ...FREE_PORTS, ...journal], { folder: folder.path });
    expect(second).toMatchObject({ code: 7, stdout: '' });
    expect(second.stderr).toMatch(/own\.db is in use by another engine/);
  });

  it('leaves a file alone that is no journal, with exit code 7', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'notes.txt');
    await writeFile(file, 'Not a database, but something that somebody needs.');
    const { code, stderr } = await spindle(['serve', ...FREE_PORTS, '--journal', `sqlite:${file}`]);
    expect(code).toBe(7);
    expect(stderr).toMatch(/notes\.txt is not a database/);
    expect(await readFile(file, 'utf8')).toBe('Not a database, but something that somebody needs.');
  });

  it('refuses an address that another process has, with exit code 6', async () => {
    await using engine = await serve();
    const second = await spindle([
      'serve',
      '--listen',
      engine.address,
      '--http',
      'off',
      '--journal',
      'memory:',
    ]);
    expect(second.code).toBe(6);
    expect(second.stderr).toContain(`${engine.address} is taken by another process`);
  });

  it('9.1: refuses an address that other machines reach, and with --insecure warns', async () => {
    const args = ['serve', '--listen', '0.0.0.0:0', '--http', 'off', '--journal', 'memory:'];
    const refused = await spindle(args);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/can be reached from other machines.*--insecure/s);
    await using allowed = start([...args, '--insecure']);
    await allowed.says(/spindle ready/);
    await allowed.says(/"level":"warn".*"insecure_listen"/);
  });

  it('9.1: applies that to the HTTP port as well', async () => {
    const { code, stderr } = await spindle(['serve', '--listen', '127.0.0.1:0', '--http', '0.0.0.0:0']);
    expect(code).toBe(2);
    expect(stderr).toContain('0.0.0.0:0 can be reached from other machines');
  });

  it('names file, key and expectation of every setting that cannot be used', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'spindle.toml'), 'lissten = "x"\n[retry.tool]\nmax_attempts = 0\n');
    const { code, stderr } = await spindle(['serve', '--config', 'spindle.toml'], {
      folder: folder.path,
      environment: { SPINDLE_LOG_LEVEL: 'loud' },
    });
    expect(code).toBe(2);
    expect(stderr).toContain('spindle.toml: lissten: no such setting');
    expect(stderr).toContain('spindle.toml: retry.tool.max_attempts: expected an integer from 1 to 100');
    expect(stderr).toContain('SPINDLE_LOG_LEVEL: expected "info", "warn", "error" or "silent"');
  });

  it('says that it is ready, and what is wrong, as JSON with --json', async () => {
    await using engine = start(['serve', ...FREE_PORTS, '--journal', 'memory:', '--json']);
    const [line] = await engine.says(/^\{"ready".*/m);
    expect(JSON.parse(line)).toEqual({
      ready: { grpc: expect.stringMatching(/^127\.0\.0\.1:\d+$/), http: 'off', journal: 'memory:' },
    });
    const { stderr } = await spindle(['serve', '--journal', 'tape:', '--json']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { reason: 'configuration', exitCode: 2 } });
  });
});
