import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { spindle as run, start, temporaryFolder } from './spindle.ts';

describe('spindle audit verify', () => {
  it('9.2: finds a changed line in the record of an engine, and a head that was noted', async () => {
    await using folder = await temporaryFolder();
    const home = folder.path;
    await run(['token', 'create', '--role', 'client'], { folder: home });
    {
      await using engine = start(['serve', '--listen', '127.0.0.1:0', '--http', 'off'], { folder: home });
      const [, address = ''] = await engine.says(/^spindle ready grpc=(\S+) /m);
      for (let asked = 0; asked < 3; asked += 1) await run(['calls', '--address', address]);
      const running = await run(['audit', 'verify', '--json'], { folder: home });
      expect([running.code, JSON.parse(running.stdout)]).toEqual([
        0,
        { entries: 3, head: expect.stringMatching(/^[0-9a-f]{64}$/), torn: 0, faults: [] },
      ]);
      const { head } = JSON.parse(running.stdout);
      expect((await run(['audit', 'verify', '--head', head], { folder: home })).code).toBe(0);
    }
    const directory = join(home, 'spindle-data', 'audit');
    const [name = ''] = await readdir(directory);
    const path = join(directory, name);
    await writeFile(path, (await readFile(path, 'utf8')).replace('unauthenticated', 'ok'));
    const changed = await run(['audit', 'verify'], { folder: home });
    expect([changed.code, changed.stdout]).toEqual([1, expect.stringContaining(`${name}:2: entry 2`)]);
  });
});

describe('spindle top', () => {
  it('9.2: shows the token that the metrics ask for, and says so where it has none', async () => {
    await using folder = await temporaryFolder();
    const home = folder.path;
    const made = await run(['token', 'create', '--role', 'operator'], { folder: home });
    const options = ['--listen', '127.0.0.1:0', '--http', 'off', '--metrics', '127.0.0.1:0'];
    await using engine = start(['serve', ...options], { folder: home });
    const [, address = '', metrics = ''] = await engine.says(/^spindle ready grpc=(\S+) .*metrics=(\S+) /m);
    const top = ['top', '--address', address, '--metrics', metrics, '--interval', '50ms', '--json'];
    const nobody = await run(top);
    expect([nobody.code, nobody.stderr]).toEqual([3, expect.stringContaining('SPINDLE_TOKEN')]);
    const operator = await run(top, { environment: { SPINDLE_TOKEN: made.stdout.trim() } });
    expect([operator.code, JSON.parse(operator.stdout)]).toMatchObject([0, { workers: 0, inFlight: 0 }]);
  });
});
