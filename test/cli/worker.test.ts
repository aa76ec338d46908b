import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serve, spindle, start, temporaryFolder } from './spindle.ts';

const TOOLS = join(import.meta.dirname, 'tools.ts');

describe('spindle worker', () => {
  it('serves what a module exports, alone, in arrays and in toolchains, each once', async () => {
    await using engine = await serve();
    await using worker = start(['worker', TOOLS, '--name', 'mine', '--address', engine.address, '--json']);
    const [line] = await worker.says(/^\{"ready".*/m);
    const { ready } = JSON.parse(line);
    expect(ready).toMatchObject({ worker: 'mine', address: engine.address });
    expect(ready.tools.toSorted()).toEqual(['ask', 'draw', 'greet', 'steer', 'sum', 'wait']);
  });

  it('serves exported agents as well, and announces no word that would steer a terminal', async () => {
    await using engine = await serve();
    const args = ['worker', join(import.meta.dirname, 'agents.ts'), '--address', engine.address];
    await using worker = start(args);
    await worker.says(/^ {2}agent clerk +Looks after \[31m orders\. \(local\/demo\)$/m);
    await using other = start([...args, '--json']);
    const [line] = await other.says(/^\{"ready".*/m);
    expect(JSON.parse(line).ready).toMatchObject({
      tools: ['pack_order'],
      agents: ['clerk', 'failing', 'steering'],
    });
  });

  it('5.9: lets a running call end after SIGTERM, and leaves with 0', async () => {
    await using engine = await serve();
    await using worker = start(['worker', TOOLS, '--address', engine.address]);
    await worker.says(/serves at/);
    const call = start(['call', 'wait', '{"ms":400}', '--address', engine.address]);
    await call.says(/Waiting/);
    worker.kill('SIGTERM');
    expect(await call.ended).toMatchObject({ code: 0, stdout: 'waited\n' });
    expect((await worker.ended).code).toBe(0);
  });

  it.each([
    ['SIGKILL', /"worker":"mine","reason":"[^"]+","event":"worker_left"/],
    ['SIGTERM', /"worker":"mine","reason":"it has drained","event":"worker_left"/],
  ] as const)('5.5: the log of the engine says that it left, also after %s', async (signal, left) => {
    await using engine = await serve();
    await using worker = start(['worker', TOOLS, '--name', 'mine', '--address', engine.address]);
    await worker.says(/serves at/);
    worker.kill(signal);
    await worker.ended;
    await engine.says(left);
  });

  it('5.3: tries again where no engine answers, and says so', async () => {
    await using worker = start(['worker', TOOLS, '--address', '127.0.0.1:1']);
    await worker.says(/No engine answers at 127\.0\.0\.1:1\. Trying again in/);
    worker.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });

  it.each([
    ['exports no tool', 'export const nothing = 1;', /exports no tool and no agent.*defineTool/s],
    ['throws while it is loaded', "throw new Error('no licence');", /cannot be loaded.*no licence/s],
  ])('leaves with 2 for a module that %s', async (_, source, message) => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'tools.ts'), source);
    const { code, stderr } = await spindle(['worker', 'tools.ts'], { folder: folder.path });
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it("shows of a stack what is of the module, and not what is ours or the platform's", async () => {
    await using folder = await temporaryFolder();
    const source = "const fail = () => {\n  throw new Error('no licence');\n};\nfail();\nexport {};\n";
    await writeFile(join(folder.path, 'tools.ts'), source);
    const { stderr } = await spindle(['worker', 'tools.ts'], { folder: folder.path });
    expect(stderr.split('\n').filter((line) => line.startsWith('    at '))).toEqual([
      expect.stringMatching(/tools\.ts:2:9\)$/),
      expect.stringMatching(/tools\.ts:4:1$/),
    ]);
  });

  it('leaves with 2 for a file that is not there', async () => {
    const { code, stderr } = await spindle(['worker', 'missing.ts']);
    expect(code).toBe(2);
    expect(stderr).toBe('spindle: missing.ts cannot be loaded: there is no such file.\n');
  });
});
