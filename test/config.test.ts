import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig, parseDuration } from '../src/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'spindle-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(text: string): string {
  const path = join(folder, `${text.length}-spindle.toml`);
  writeFileSync(path, text);
  return path;
}

function problems(...[sources]: Parameters<typeof loadConfig>): readonly string[] {
  const loaded = loadConfig({ environment: {}, ...sources });
  return loaded.ok ? [] : loaded.problems;
}

describe('the configuration', () => {
  it('leaves what nobody configured to the part that it belongs to', () => {
    expect(loadConfig({ environment: {} })).toMatchObject({
      ok: true,
      config: {
        address: undefined,
        listen: undefined,
        journal: undefined,
        insecure: false,
        logLevel: 'info',
      },
    });
  });

  it('takes flags before the environment, and that before the file', () => {
    const path = file('listen = "127.0.0.1:1"\nhttp = "127.0.0.1:1"\njournal = "memory:"\n');
    const environment = { SPINDLE_LISTEN: '127.0.0.1:2', SPINDLE_HTTP: 'off', SPINDLE_CONFIG: path };
    expect(loadConfig({ environment, flags: { listen: '127.0.0.1:3' } })).toMatchObject({
      ok: true,
      config: { listen: '127.0.0.1:3', http: false, journal: 'memory:' },
    });
  });

  it('takes an empty variable for one that is not set', () => {
    expect(loadConfig({ environment: { SPINDLE_LISTEN: '', SPINDLE_CONFIG: '' } })).toMatchObject({
      ok: true,
      config: { listen: undefined },
    });
  });

  it('4.1: reads the policies of the deployment', () => {
    const path = file(
      '[retry.base]\ntotal_timeout = "30m"\n[retry.tool]\nrun_timeout = "1.5s"\nmax_attempts = 3\nbackoff_multiplier = 1.5\n',
    );
    expect(loadConfig({ file: path, environment: {} })).toMatchObject({
      ok: true,
      config: {
        retry: {
          base: { totalTimeoutMs: 1_800_000 },
          tool: { runTimeoutMs: 1_500, maxAttempts: 3, backoffMultiplier: 1.5 },
        },
      },
    });
  });

  it('is frozen all the way down', () => {
    const loaded = loadConfig({ file: file('[retry.tool]\nmax_attempts = 2\n'), environment: {} });
    const config = loaded.ok ? loaded.config : undefined;
    expect([config, config?.retry, config?.retry?.tool].map(Object.isFrozen)).toEqual([true, true, true]);
    expect(config?.retry?.tool).toEqual({ maxAttempts: 2 });
  });

  it.each([
    ['listen = 7433', 'listen: expected HOST:PORT, as in 127.0.0.1:7433, localhost:0 or [::1]:7433'],
    ['http = "on"', 'http: expected HOST:PORT, as in 127.0.0.1:7434, or "off"'],
    ['journal = "postgres:x"', 'journal: expected "memory:", or "sqlite:" and the path of a file'],
    ['insecure = "perhaps"', 'insecure: expected true or false'],
    ['shutdown_grace = "5"', 'shutdown_grace: expected a positive number and its unit'],
    ['shutdown_grace = "400d"', 'shutdown_grace: expected a positive number and its unit'],
    ['retry = 3', 'retry: expected a table'],
    ['[retry.tool]\nmax_attempts = 101', 'retry.tool.max_attempts: expected an integer from 1 to 100'],
    ['[retry.tools]', 'retry.tools: no such setting'],
    ['[retry.tool]\ntimeout = "1s"', 'retry.tool.timeout: no such setting'],
    ['lissten = "x"', 'lissten: no such setting'],
    ['listen = ', 'expected TOML'],
  ])('says where it stands and what is expected: %j', (text, problem) => {
    const path = file(text);
    const [found = '', ...more] = problems({ file: path });
    expect(found).toContain(`${path}: ${problem}`);
    expect(more).toEqual([]);
  });

  it('names the variable or the flag that cannot be used, and every problem at once', () => {
    expect(problems({ environment: { SPINDLE_HTTP: 'x' }, flags: { log_level: 'loud' } })).toEqual([
      'SPINDLE_HTTP: expected HOST:PORT, as in 127.0.0.1:7434, or "off"',
      '--log-level: expected "info", "warn", "error" or "silent"',
    ]);
  });

  it('warns of a variable that is no setting, and names the nearest', () => {
    const environment = {
      SPINDLE_LISTN: ':1',
      SPINDLE_ADRESS: '',
      SPINDLE_HTTP: 'off',
      PATH: '/bin',
      SPINDLE_PORT: 'tcp://',
    };
    expect(loadConfig({ environment })).toMatchObject({
      ok: true,
      warnings: [
        'SPINDLE_LISTN is no setting of Spindle, and has no effect; the nearest is SPINDLE_LISTEN.',
        'SPINDLE_ADRESS is no setting of Spindle, and has no effect; the nearest is SPINDLE_ADDRESS.',
      ],
    });
  });

  it('says that a file cannot be read', () => {
    const [problem] = problems({ file: join(folder, 'missing.toml') });
    expect(problem).toMatch(/missing\.toml: the configuration cannot be read \(ENOENT/);
  });
});

describe('a length of time', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5h', 5_400_000],
    ['7d', 604_800_000],
    ['30', undefined],
    ['-1s', undefined],
    ['1 s', undefined],
    ['1w', undefined],
    ['', undefined],
  ])('%j is %j milliseconds', (text, millis) => {
    expect(parseDuration(text)).toBe(millis);
  });
});
