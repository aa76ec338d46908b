import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { spindle, start, temporaryFolder } from '../../cli/spindle.ts';
import { method, openClient } from '../raw-client.ts';
import { connectWorker, helloOf, textResult } from '../raw-worker.ts';

/** Everything in a folder, by the path of its file. */
async function filesOf(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const)));
}

describe('an engine that has been shown secrets', () => {
  it('9.2, 9.4: has none of them in its files and in what it says, good or bad, in full or in part', async () => {
    await using folder = await temporaryFolder();
    const home = folder.path;
    const tokenOf = async (role: string): Promise<string> =>
      (await spindle(['token', 'create', '--role', role], { folder: home })).stdout.trim();
    const [client, worker] = [await tokenOf('client'), await tokenOf('worker')];
    const ports = ['--listen', '127.0.0.1:0', '--http', '127.0.0.1:0'];
    await using engine = start(['serve', ...ports], { folder: home });
    const [, address = '', http = ''] = await engine.says(/^spindle ready grpc=(\S+) http=(\S+)/m);

    const serving = await connectWorker(address, helloOf([{ name: 't' }]), { token: worker });
    const calling = openClient(address, { token: client });
    const ending = calling.call(method.callTool, { name: 't', callId: 'c' });
    await serving.answer((await serving.work('c')).leaseToken, textResult('done'));
    expect((await ending).outcome.case).toBe('result');

    const wrong = `${client.split('.')[0]}.${'W'.repeat(43)}`;
    const jwt = 'eyJhbGciOiJFZERTQSJ9.c2VjcmV0LWNsYWlt.c2VjcmV0LXNpZ25hdHVyZQ';
    const said: string[] = [];
    for (const token of [wrong, jwt]) {
      const stranger = openClient(address, { token });
      said.push(JSON.stringify(await stranger.refused(method.listTools, {})));
      stranger.close();
      for (const path of ['spindle.v1.ToolService/ListTools', 'mcp']) {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
        const answer = await fetch(`http://${http}/${path}`, { method: 'POST', headers, body: '{}' });
        expect([path, answer.status]).toEqual([path, 401]);
        said.push(await answer.text());
      }
    }
    serving.vanish();
    calling.close();
    engine.kill('SIGTERM');
    const { stdout, stderr, code } = await engine.ended;
    expect([code, stderr]).toEqual([0, expect.stringContaining('worker_connected')]);

    const files = await filesOf(home);
    const names = [...files.keys()];
    const keyFile = names.find((name) => name.endsWith('access.key')) ?? '';
    expect(names).toContainEqual(expect.stringMatching(/spindle\.db/));
    expect(names).toContainEqual(expect.stringContaining('audit'));
    const places = new Map([...files, ['what it said', Buffer.from([stdout, stderr, ...said].join('\n'))]]);
    const secrets = [client, worker, wrong].map((token) => Buffer.from(token.split('.')[1] ?? ''));
    const raw = [client, worker].map((token) => Buffer.from(token.split('.')[1] ?? '', 'base64url'));
    const claims = jwt
      .split('.')
      .slice(1)
      .map((part) => Buffer.from(part));
    for (const secret of [...secrets, ...raw, ...claims]) {
      const holding = [...places].filter(([, bytes]) => bytes.includes(secret)).map(([place]) => place);
      expect([secret.length > 10, holding]).toEqual([true, []]);
    }
    const key = files.get(keyFile) ?? Buffer.alloc(0);
    expect(key).toHaveLength(32);
    expect([...places].filter(([, bytes]) => bytes.includes(key)).map(([place]) => place)).toEqual([keyFile]);
  });
});
