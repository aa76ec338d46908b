import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { createWorker } from 'spindle/worker';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderAgent } from '../../examples/agent/agent.ts';
import { openFolder } from '../../examples/agent/folder.ts';
import { folderTools } from '../../examples/agent/tools.ts';
import { type ChatMessage, Role } from '../../gen/spindle/v1/message_pb.ts';
import { SessionService } from '../../gen/spindle/v1/session_service_pb.ts';
import { createEngine, type EngineOptions } from '../../src/main.ts';

const cleanups: (() => Promise<unknown>)[] = [];
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'spindle-folder-'));
  cleanups.push(() => rm(root, { recursive: true }));
  await mkdir(join(root, 'docs'));
  await writeFile(join(root, 'docs/a.md'), 'The kingfisher is blue.\nIt eats fish.\n');
  await writeFile(join(root, 'docs/b.md'), 'The heron waits.\n');
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** An engine with the agent of the example, its worker, and a session. */
async function start({
  model = 'local/demo',
  agents,
  scripts,
}: { model?: string } & Pick<EngineOptions, 'agents' | 'scripts'> = {}) {
  const engine = await createEngine({
    journal: 'memory:',
    listen: '127.0.0.1:0',
    http: '127.0.0.1:0',
    ...(agents === undefined ? {} : { agents }),
    ...(scripts === undefined ? {} : { scripts }),
  });
  cleanups.push(() => engine.stop(0));
  const tools = folderTools(await openFolder(root));
  const bound = agents === undefined ? { agents: [folderAgent(tools, model)] } : { tools };
  const worker = createWorker({ address: engine.grpcAddress, ...bound });
  const running = worker.run();
  cleanups.push(async () => {
    await worker.stop();
    await running;
  });
  await worker.ready;
  const sessions = createClient(
    SessionService,
    createConnectTransport({ baseUrl: `http://${engine.httpAddress}`, httpVersion: '1.1' }),
  );
  const { session } = await sessions.createSession({ agentId: 'folder' });
  const sessionId = session?.sessionId ?? '';

  async function messages(): Promise<readonly ChatMessage[]> {
    return (await sessions.getSession({ sessionId, includeMessages: true })).messages;
  }
  return {
    sessions,
    sessionId,
    messages,
    /** Runs a turn to its end, or until it waits for a person, and gives the deltas of its texts. */
    async say(
      text: string,
      more: { readonly turnId?: string; readonly task?: { readonly resultSchemaJson: string } } = {},
    ): Promise<string> {
      const part = {
        kind: { case: 'content' as const, value: { kind: { case: 'text' as const, value: { text } } } },
      };
      const input = {
        kind: { case: 'messages' as const, value: { messages: [{ role: Role.USER, parts: [part] }] } },
      };
      let streamed = '';
      for await (const { update } of sessions.runTurn({ turn: { sessionId, input, ...more } })) {
        const kind = update?.kind;
        if (kind?.case === 'delta' && kind.value.kind.case === 'text') streamed += kind.value.kind.value;
        if (kind?.case === 'event' && kind.value.kind.case === 'interruptRaised') break;
      }
      return streamed;
    },
  };
}

function callsOf(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap(({ kind }) =>
      kind.case === 'toolCall' ? [`${kind.value.name} ${kind.value.arguments}`] : [],
    ),
  );
}

describe('the local model on an engine, with the tools of the example', () => {
  it('6.1: answers from real files, over several iterations, and streams its answer', async () => {
    const { say, messages } = await start();
    const answer = await say('List the files in docs and count the words of each.');
    expect(callsOf(await messages())).toEqual([
      'list_files {"folder":"docs"}',
      'count_words {"path":"docs/a.md"}',
      'count_words {"path":"docs/b.md"}',
    ]);
    expect(answer).toContain('there are 7 words');
    expect(answer).toContain('there are 3 words');
    expect(await say('Search for "kingfisher" in docs')).toContain('The kingfisher is blue.');
  });

  it('6.11: writes nothing before a person has approved it', async () => {
    const { say, sessions, sessionId, messages } = await start();
    await say('Write a note named birds.txt saying herons wait');
    const path = join(root, 'birds.txt');
    await expect(readFile(path, 'utf8')).rejects.toThrow('ENOENT');
    const { session } = await sessions.getSession({ sessionId });
    const interruptId = session?.openItems[0]?.id ?? '';
    expect(session?.openItems[0]?.name).toBe('write_note');
    const watched = sessions.watchSession({ sessionId, afterSequence: session?.lastSequence ?? 0 });
    await sessions.resumeInterrupt({ sessionId, interruptId, payloadJson: 'true' });
    for await (const { update } of watched) {
      if (update?.kind.case === 'event' && update.kind.value.kind.case === 'turnEnded') break;
    }
    expect(await readFile(path, 'utf8')).toBe('herons wait\n');
    expect(callsOf(await messages())).toEqual(['write_note {"name":"birds.txt","text":"herons wait"}']);
  });

  it('6.8: finds deferred tools by a search, and calls them', async () => {
    const agents = { folder: { model: 'local/demo', useTools: ['*'], deferTools: { maxMatches: 2 } } };
    const { say, messages } = await start({ agents });
    expect(await say('How many words are in docs/a.md?')).toContain('7 words');
    expect(callsOf(await messages())).toEqual([
      expect.stringMatching(/^tool_search /),
      'call_tool {"name":"count_words","arguments":{"path":"docs/a.md"}}',
    ]);
  });

  it('6.12: ends a task with a value that fits its schema', async () => {
    const { say, sessions, sessionId, messages } = await start();
    const resultSchemaJson = JSON.stringify({
      type: 'object',
      properties: { words: { type: 'integer' } },
      required: ['words'],
    });
    await say('How many words are in docs/a.md?', { turnId: 'task', task: { resultSchemaJson } });
    expect(callsOf(await messages()).at(-1)).toBe('submit_result {"result":{"words":7}}');
    const { ended } = await sessions.getTurn({ sessionId, turnId: 'task' });
    expect(ended?.outcome).toMatchObject({ case: 'finished', value: { outputJson: '{"words":7}' } });
  });

  it('6.7: says what a tool refused', async () => {
    const { say } = await start();
    expect(await say('Read ../secret.txt')).toContain('There is no ../secret.txt.');
  });

  it('takes the place of a provider by name: a script of the deployment', async () => {
    const script = join(root, 'robot.toml');
    await writeFile(
      script,
      `
[[answers]]
calls = [{ name = "read_file", arguments = '{"path":"docs/b.md"}' }]

[[answers]]
text = "Done."
expect = { last = ["heron"] }
`,
    );
    const { say } = await start({ model: 'robot/any', scripts: { robot: script } });
    expect(await say('go')).toBe('Done.');
  });

  it('refuses to start with a script that is broken', async () => {
    const options = { journal: 'memory:', listen: '127.0.0.1:0', http: false as const };
    await expect(createEngine({ ...options, scripts: { robot: 'no/such.toml' } })).rejects.toThrow(
      'no/such.toml: the script cannot be read',
    );
  });
});

describe('the folder of the example', () => {
  it.each(['../x', '/etc/passwd', 'link.md', 'docs/../../x', 'out/passwd'])(
    'is not left: %s',
    async (path) => {
      await symlink('/etc/passwd', join(root, 'link.md'));
      await symlink('/etc', join(root, 'out'));
      const folder = await openFolder(root);
      await expect(folder.read(path)).rejects.toThrow(/outside the folder|There is no/);
      await expect(folder.create(path, 'x')).rejects.toThrow(/outside the folder|There is no|there already/);
      expect(await folder.list('.')).toEqual(['docs/a.md', 'docs/b.md']);
    },
  );

  it('overwrites nothing', async () => {
    const folder = await openFolder(root);
    await expect(folder.create('docs/a.md', 'x')).rejects.toThrow('docs/a.md is there already.');
    expect(await folder.read('docs/a.md')).toContain('kingfisher');
  });
});
