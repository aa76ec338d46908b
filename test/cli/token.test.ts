import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { spindle as run, start, temporaryFolder } from './spindle.ts';

describe('spindle token', () => {
  it('9.2: makes a token before the engine has ever run, and with it the engine asks who comes', async () => {
    await using folder = await temporaryFolder();
    const home = folder.path;
    const made = await run(['token', 'create', '--role', 'client', '--subject', 'ann'], { folder: home });
    expect(made.stdout).toMatch(/^spindle_[\w-]{22}\.[\w-]{43}\n$/);
    expect(made.stderr).toContain('client of default, everything');
    await using engine = start(['serve', '--listen', '127.0.0.1:0', '--http', 'off'], { folder: home });
    const [, address = ''] = await engine.says(/^spindle ready grpc=(\S+) /m);
    const nobody = await run(['calls', '--address', address]);
    expect([nobody.code, nobody.stderr]).toEqual([3, expect.stringContaining('SPINDLE_TOKEN')]);
    const token = made.stdout.trim();
    const ann = await run(['calls', '--address', address, '--json'], {
      environment: { SPINDLE_TOKEN: token },
    });
    expect([ann.code, ann.stdout]).toEqual([0, '[]\n']);
    const path = join(home, 'ann.token');
    await writeFile(path, made.stdout);
    const byFile = await run(['calls', '--address', address, '--json', '--token-file', path]);
    expect(byFile.code).toBe(0);
  });

  it('9.2: asks the running engine, whose administrator is who reads its files; a revoked token is no good', async () => {
    await using folder = await temporaryFolder();
    const home = folder.path;
    await using engine = start(['serve', '--listen', '127.0.0.1:0', '--http', 'off'], { folder: home });
    const [, address = ''] = await engine.says(/^spindle ready grpc=(\S+) /m);
    const at = ['--address', address, '--json'];
    const made = await run(
      ['token', 'create', ...at, '--role', 'operator', '--tenant', 'acme', '--expires', '1h'],
      {
        folder: home,
      },
    );
    const { id, secret, expiresAt } = JSON.parse(made.stdout);
    expect(Date.parse(expiresAt)).toBeGreaterThan(0);
    const environment = { SPINDLE_TOKEN: secret };
    // From elsewhere, with the operator's own token.
    const other = await run(['token', 'create', ...at, '--role', 'worker', '--tools', 'a_*', 'b'], {
      environment,
    });
    expect(JSON.parse(other.stdout)).toMatchObject({ tenant: 'acme', tools: ['a_*', 'b'] });
    const listed = await run(['token', 'list', ...at], { environment });
    expect(JSON.parse(listed.stdout)).toHaveLength(2);
    expect(listed.stdout).not.toContain(secret.split('.')[1]);
    expect((await run(['token', 'revoke', id, ...at], { folder: home })).code).toBe(0);
    expect((await run(['token', 'list', ...at], { environment })).code).toBe(3);
    const key = join(home, 'spindle-data', 'access.key');
    expect((await stat(key)).mode & 0o777).toBe(0o600);
    expect(await readFile(key)).toHaveLength(32);
  });

  it('9.4: takes no secret as an argument', async () => {
    const refused = await run(['calls', '--token', 'x']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--token')]);
  });

  it('says what it cannot do', async () => {
    await using folder = await temporaryFolder();
    const home = folder.path;
    const memory = await run(['token', 'list', '--journal', 'memory:'], { folder: home });
    expect([memory.code, memory.stderr]).toEqual([2, expect.stringContaining('in memory keeps no tokens')]);
    const unknown = await run(['token', 'revoke', 'nothing'], { folder: home });
    expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining('no token')]);
    const god = await run(['token', 'create', '--role', 'god'], { folder: home });
    expect(god.code).toBe(2);
  });
});
