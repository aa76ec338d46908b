import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { KINDS } from '../models/providers.ts';

const folder = mkdtempSync(join(tmpdir(), 'spindle-providers-'));
afterAll(() => rmSync(folder, { recursive: true }));

function load(text: string, environment: Record<string, string> = {}) {
  const path = join(folder, 'spindle.toml');
  writeFileSync(path, text);
  return loadConfig({ file: path, environment });
}

function providers(text: string, environment?: Record<string, string>) {
  const loaded = load(text, environment);
  if (!loaded.ok) throw new Error(loaded.problems.join());
  return loaded.config.providers;
}

describe('the model providers', () => {
  it('that need no configuration are there, each with the usual variable of its key', () => {
    const found = providers('', { ANTHROPIC_API_KEY: 'a-key', OPENAI_API_KEY: '' });
    expect(Object.keys(found)).toEqual(['anthropic', 'openai', 'google']);
    expect(Object.values(found).map(({ kind, apiKeyEnv }) => [kind, apiKeyEnv])).toEqual([
      ['anthropic', 'ANTHROPIC_API_KEY'],
      ['openai', 'OPENAI_API_KEY'],
      ['google', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    ]);
    expect(Object.values(found).map(({ readApiKey }) => readApiKey())).toEqual([
      'a-key',
      undefined,
      undefined,
    ]);
  });

  it('of the file have a name of their own, a place, a key, headers and a time', () => {
    const text = `
[providers.router]
kind = "openai-compatible"
base_url = "https://openrouter.ai/api/v1"
api_key_env = "ROUTER_KEY"
headers = { "X-Title" = "Spindle" }
timeout = "90s"

[providers.here]
kind = "openai-compatible"
base_url = "http://127.0.0.1:11434/v1"
streaming = false
`;
    const { router, here } = providers(text, { ROUTER_KEY: 'r-key' });
    expect(router).toMatchObject({
      kind: 'openai-compatible',
      baseUrl: 'https://openrouter.ai/api/v1',
      apiKeyEnv: 'ROUTER_KEY',
      headers: { 'X-Title': 'Spindle' },
      streaming: true,
      timeoutMs: 90_000,
    });
    expect(router?.readApiKey()).toBe('r-key');
    expect(here).toMatchObject({ apiKeyEnv: undefined, streaming: false });
    expect(here?.readApiKey()).toBeUndefined();
  });

  it('change a built-in one where they have its name, and its usual key goes to no other place', () => {
    const environment = { OPENAI_API_KEY: 'o-key', ANTHROPIC_API_KEY: 'a-key' };
    const { openai, anthropic } = providers(
      '[providers.openai]\nkind = "openai-chat"\napi_key_env = "OPENAI_API_KEY"\n[providers.anthropic]\nbase_url = "http://proxy.test/v1"\n',
      environment,
    );
    expect(openai).toMatchObject({ kind: 'openai-chat', baseUrl: undefined });
    expect(openai?.readApiKey()).toBe('o-key');
    expect(anthropic).toMatchObject({ kind: 'anthropic', baseUrl: 'http://proxy.test/v1' });
    expect(anthropic?.readApiKey()).toBeUndefined();
  });

  it('9.4: show no key to whoever prints them', () => {
    const found = providers('', { ANTHROPIC_API_KEY: 'a-very-secret-key' });
    expect(inspect(found, { depth: 9 }) + JSON.stringify(found)).not.toContain('a-very-secret-key');
  });

  it.each(KINDS)('may be of the kind %s', (kind) => {
    expect(
      providers(`[providers.x]\nkind = "${kind}"\nbase_url = "http://127.0.0.1:1/v1"\n`)['x']?.kind,
    ).toBe(kind);
  });

  it.each([
    [
      '[providers.x]\nbase_url = "http://a.test"',
      'providers.x.kind: expected one of "anthropic", "openai", ',
    ],
    ['[providers.x]\nkind = "azure"', 'providers.x.kind: expected one of'],
    ['[providers.x]\nkind = "openai-compatible"', 'providers.x.base_url: expected the URL of an API'],
    [
      '[providers.x]\nkind = "openai"\nbase_url = "ftp://a.test"',
      'providers.x.base_url: expected the URL of an API',
    ],
    ['[providers.x]\nkind = "openai"\napi_key = "sk"', 'providers.x.api_key: no such setting'],
    [
      '[providers.x]\nkind = "openai"\napi_key_env = "a b"',
      'providers.x.api_key_env: expected the name of an environment',
    ],
    [
      '[providers.x]\nkind = "openai"\ntimeout = 5',
      'providers.x.timeout: expected a positive number and its unit',
    ],
    ['[providers."a/b"]\nkind = "openai"', 'providers.a/b: expected a name of letters'],
    ['providers = 1', 'providers: expected a table'],
  ])('says what is wrong: %j', (text, problem) => {
    const loaded = load(text);
    expect(loaded.ok ? [] : loaded.problems).toEqual([expect.stringContaining(problem)]);
  });

  it('answers from a script, which has its file and nothing else', () => {
    const scripted = load('[providers.robot]\nkind = "scripted"\nfile = "robot.toml"');
    expect(scripted.ok && scripted.config.scripts).toEqual({ robot: 'robot.toml' });
    expect(scripted.ok && Object.keys(scripted.config.providers)).not.toContain('robot');
    const problems = (text: string) => {
      const loaded = load(text);
      return loaded.ok ? [] : loaded.problems.map((problem) => problem.replace(/^.*spindle\.toml: /, ''));
    };
    const file = 'expected the path of a script, with kind = "scripted"';
    expect(problems('[providers.robot]\nkind = "scripted"')).toEqual([`providers.robot.file: ${file}`]);
    expect(problems('[providers.openai]\nfile = "robot.toml"')).toEqual([`providers.openai.file: ${file}`]);
    expect(problems('[providers.robot]\nkind = "scripted"\nfile = "a"\nstreaming = true')).toEqual([
      'providers.robot.streaming: expected nothing but kind and file, where kind is "scripted"',
    ]);
  });
});
