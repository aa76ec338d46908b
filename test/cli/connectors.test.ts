import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptedServer, TOOL } from '../connectors/scripted-server.ts';
import { spindle, temporaryFolder } from './spindle.ts';

/** A configuration in a folder of its own. */
async function configured(table: (url: string) => string, tools: () => readonly unknown[] = () => [TOOL]) {
  const server = await scriptedServer({ tools });
  const folder = await temporaryFolder();
  const config = join(folder.path, 'spindle.toml');
  await writeFile(config, `journal = "sqlite:${join(folder.path, 'spindle.db')}"\n${table(server.url)}`);
  const run = (...args: string[]) => spindle(['connectors', ...args, '--config', config]);
  return { run, path: folder.path, server, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

const plain = (url: string): string => `[connectors.s]\nurl = "${url}"\nprivate = true\n`;

describe('spindle connectors', () => {
  it('lists what is configured, and shows no credential', async () => {
    await using here = await configured(
      (url) =>
        `${plain(url)}auth = "token"\ntoken = { variable = "NOT_SET" }\n` +
        '[connectors.files]\ncommand = "files"\nenvironment = { KEY = { variable = "NOT_SET" } }\n',
    );
    const { code, stdout } = await here.run('list', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([
      { id: 's', kind: 'http', at: here.server.url, auth: 'token', pinned: false },
      { id: 'files', kind: 'stdio', at: 'files', auth: 'none', pinned: false },
    ]);
    expect((await here.run('list')).stdout).toMatch(/^s +http +token +no +http/m);
  });

  it('shows what a server offers, what was refused, and why', async () => {
    await using here = await configured(plain, () => [TOOL, { name: 'bad' }]);
    const { code, stdout, stderr } = await here.run('check', 's');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^s__work +Works\.$/m);
    expect(stderr).toMatch(/^s is scripted 1$/m);
    expect(stderr).toMatch(/^refused: bad: it is no tool as MCP defines one, at inputSchema/m);
  });

  it('holds back what changed since it was approved, and takes it with --accept', async () => {
    let description = 'Works.';
    await using here = await configured(
      (url) => `${plain(url)}pinned = true\n`,
      () => [{ ...TOOL, description }],
    );
    expect((await here.run('check', 's', '--accept')).code).toBe(0);
    const pins = await readFile(join(here.path, 'connectors/s.pins.json'), 'utf8');
    expect(Object.keys(JSON.parse(pins))).toEqual(['work']);
    description = 'Works otherwise.';
    expect((await here.run('check', 's')).stderr).toMatch(/^held back: work: its definition has changed/m);
    await here.run('check', 's', '--accept');
    const { stdout } = await here.run('check', 's', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      tools: [{ name: 's__work', serverName: 'work' }],
      withheld: [],
    });
  });

  it.each<[string, string[], number, RegExp]>([
    ['a connector that there is not', ['check', 'other'], 2, /There are: s, gone, stdio/],
    ['a server that is not there', ['check', 'gone'], 4, /fails: http:\/\/127.0.0.1:1:/],
    ['a program that fails, with its last words', ['check', 'stdio'], 4, /It wrote: no such luck/],
    ['to accept what is not pinned', ['check', 's', '--accept'], 2, /pinned = true/],
    ['a login that nobody asks for', ['login', 's'], 2, /takes no login/],
  ])('refuses %s', async (_, args, code, said) => {
    await using here = await configured(
      (url) =>
        `${plain(url)}[connectors.gone]\nurl = "http://127.0.0.1:1/mcp"\nprivate = true\n` +
        `[connectors.stdio]\ncommand = "sh"\nargs = ["-c", "echo no such luck >&2; exit 1"]\n`,
    );
    const ended = await here.run(...args);
    expect(ended.stderr).toMatch(said);
    expect(ended.code).toBe(code);
  });

  it.each([
    [
      'neither a command nor a url',
      'prefix = true',
      /connectors.x.command: expected either a command or a url/,
    ],
    [
      'a credential in the open',
      'url = "https://x.example"\nauth = "token"\ntoken = "abc"',
      /connectors.x.token: expected/,
    ],
    [
      'auth without what it needs',
      'url = "https://x.example"\nauth = "token"',
      /connectors.x.token: expected a value/,
    ],
    [
      'what belongs to the other kind',
      'command = "x"\nprivate = true',
      /connectors.x.private: expected nothing/,
    ],
    ['what it does not know', 'command = "x"\nshell = true', /connectors.x.shell: no such setting/],
  ])('says what is wrong with a table: %s', async (_, table, said) => {
    await using here = await configured(() => `[connectors.x]\n${table}\n`);
    const { code, stderr } = await here.run('list');
    expect([code, stderr]).toEqual([2, expect.stringMatching(said)]);
  });
});
