import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { serve, spindle, start } from './spindle.ts';

describe('spindle conformance', () => {
  it.each([
    [
      ['--', './no-such-worker'],
      2,
      /^spindle: \.\/no-such-worker cannot be started: .*ENOENT.*\nName a program/,
    ],
    [['--engine', '127.0.0.1:1'], 4, /^spindle: No engine answers at 127\.0\.0\.1:1\.\n/],
    [[], 2, /name either a worker's command or an engine/],
    [['--only', '99', '--', 'true'], 2, /there is no rule 99/],
  ])('says what to do where there is nothing to check: %j', async (args, exitCode, message) => {
    const { code, stdout, stderr } = await spindle(['conformance', ...args]);
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('checks an engine, and leaves with 0 where it passes', async () => {
    await using engine = await serve();
    const args = ['conformance', '--engine', engine.address, '--only', '5.12', '--json'];
    const { code, stdout } = await spindle(args);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ section: '5.12', passed: true }]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends its worker where %s ends it', async (signal, exitCode) => {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    // A worker that says nothing to the suite. Its socket tells when it has started, and when it is gone.
    const program = `import('node:net').then(({ connect }) => connect(${port}, '127.0.0.1'))`;
    await using suite = start(['conformance', '--', process.execPath, '-e', program]);
    const [socket]: Socket[] = await once(server, 'connection');
    const gone = new Promise((resolve) => socket?.once('close', resolve).on('error', () => undefined));
    suite.kill(signal);
    const { code, stderr } = await suite.ended;
    expect(code).toBe(exitCode);
    expect(stderr).toContain('its worker with it');
    await gone;
    server.close();
  });
});
