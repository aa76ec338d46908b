import { readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CallStatus } from '../../gen/spindle/v1/call_pb.ts';
import { EXIT } from '../../src/cli/exit-code.ts';
import { JOURNAL_RESERVE_BYTES } from '../../src/core/limits.ts';
import { temporaryDirectory } from '../journal/temporary-directory.ts';
import { method } from './raw-client.ts';
import { connectWorker, helloOf, type RawWorker, textResult } from './raw-worker.ts';
import { mayMount, type Served, serve, served } from './served.ts';

const MIB = 1024 * 1024;
const direct = (callId: string) => ({ sessionId: '', callId });
const argumentsOf = (callId: string) => JSON.stringify({ text: `text of ${callId}` });

/** A call that is on record, and with the worker. */
async function begin({ client }: Served, worker: RawWorker, callId: string) {
  await client.call(method.startCall, { call: { name: 't', callId, arguments: argumentsOf(callId) } });
  return worker.work(callId);
}

async function complete(engine: Served, worker: RawWorker, callId: string): Promise<void> {
  const { leaseToken } = await begin(engine, worker, callId);
  await worker.answer(leaseToken, textResult(`done ${callId}`));
}

async function textOf({ client }: Served, callId: string): Promise<string> {
  const { call } = await client.call(method.getCall, direct(callId));
  const [block] = call?.outcome.case === 'result' ? call.outcome.value.content : [];
  return block?.kind.case === 'text' ? block.kind.value.text : `${call?.outcome.case}`;
}

async function newPath(): Promise<string> {
  return join(await temporaryDirectory(), 'journal.db');
}

/** Flips a bit in every copy of a text. */
async function flip(path: string, text: string): Promise<void> {
  const bytes = await readFile(path);
  expect(bytes.includes(text)).toBe(true);
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text)) {
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  }
  await writeFile(path, bytes);
}

const canMount = await mayMount();

describe('an engine whose storage fails', () => {
  it.skipIf(!canMount)(
    '7.4: a full disk refuses new work first, loses nothing, and goes on by itself once there is room',
    async () => {
      const directory = await temporaryDirectory();
      const engine = await served({
        path: join(directory, 'journal.db'),
        ownMounts: true,
        before: `mount -t tmpfs -o size=${JOURNAL_RESERVE_BYTES + 16 * MIB} tmpfs '${directory}'`,
      });
      // The engine's own view of its disk, which nobody else sees.
      const filler = join(`/proc/${engine.pid}/root`, directory, 'filler');
      const worker = await engine.worker();
      await complete(engine, worker, 'before');
      const first = await begin(engine, worker, 'first');
      const second = await begin(engine, worker, 'second');

      await writeFile(filler, Buffer.alloc(20 * MIB));
      expect(await engine.client.refused(method.callTool, { name: 't', callId: 'new' })).toMatchObject({
        code: 'RESOURCE_EXHAUSTED',
        reason: 'overloaded',
      });
      await worker.answer(first.leaseToken, textResult('done first'));
      expect(await textOf(engine, 'first')).toBe('done first');

      const full = writeFile(filler, Buffer.alloc(JOURNAL_RESERVE_BYTES + 16 * MIB));
      await expect(full).rejects.toMatchObject({ code: 'ENOSPC' });
      // Too large for what the log may already have.
      const answered = worker.answer(second.leaseToken, textResult(`done second ${'x'.repeat(200_000)}`));
      expect(await engine.client.refused(method.cancelCall, direct('second'))).toMatchObject({
        reason: 'overloaded',
      });
      await rm(filler);
      await answered;
      expect(await textOf(engine, 'second')).toMatch(/^done second x+$/);
      await complete(engine, worker, 'after');
      expect(await textOf(engine, 'before')).toBe('done before');
      engine.signal('SIGTERM');
      expect(await engine.ended).toMatchObject({ code: EXIT.ok });
    },
  );

  it.each(['before', 'after'])(
    '7.4: a commit that broke off stops it, whether the events are lost or on disk; a restart goes on (%s)',
    async (moment) => {
      const path = await newPath();
      const trigger = `${path}.trigger`;
      const engine = await served({
        path,
        preload: new URL('./failing-commits.ts', import.meta.url).href,
        environment: { SPINDLE_TEST_FAIL_COMMITS: trigger },
      });
      const worker = await engine.worker();
      await complete(engine, worker, 'recorded');
      const { leaseToken } = await begin(engine, worker, 'running');
      await writeFile(trigger, moment);
      worker.send({ case: 'answer', value: { leaseToken, outcome: textResult('unknown') } });
      const { code, log } = await engine.ended;
      expect(code).toBe(EXIT.journalFailed);
      expect(log).toContain(`The journal ${path} failed to commit: disk I/O error`);
      expect(worker.inbox.all.filter(({ kind }) => kind.case === 'acknowledge')).toHaveLength(1);

      const again = await served({ path });
      expect(await textOf(again, 'recorded')).toBe('done recorded');
      // What nobody was told of is there as a whole, or not at all.
      expect(await textOf(again, 'running')).toBe(moment === 'after' ? 'unknown' : 'undefined');
    },
  );

  it('7.4, 7.2: flipped bits stop their calls alone, ended and running ones, and the others go on', async () => {
    const path = await newPath();
    const engine = await served({ path });
    const worker = await engine.worker();
    await complete(engine, worker, 'ended-sick');
    await complete(engine, worker, 'ended-well');
    await engine.client.call(method.startCall, {
      call: { name: 'later', callId: 'waiting-sick', arguments: argumentsOf('waiting-sick') },
    });
    await engine.client.call(method.startCall, {
      call: { name: 'later', callId: 'waiting-well', arguments: argumentsOf('waiting-well') },
    });
    engine.signal('SIGTERM');
    expect(await engine.ended).toMatchObject({ code: EXIT.ok });
    await flip(path, 'text of ended-sick');
    await flip(path, 'text of waiting-sick');

    const again = await served({ path });
    const damaged = { code: 'DATA_LOSS', reason: 'session_damaged' };
    for (const callId of ['ended-sick', 'waiting-sick']) {
      expect(await again.client.refused(method.getCall, direct(callId))).toMatchObject(damaged);
      expect(await again.client.refused(method.cancelCall, direct(callId))).toMatchObject(damaged);
      const call = { name: 't', callId, arguments: argumentsOf(callId) };
      expect(await again.client.refused(method.callTool, call)).toMatchObject(damaged);
      const watching = again.client.stream(method.watchCall, direct(callId));
      expect((await watching.status).code).toBe(15);
    }
    expect(await textOf(again, 'ended-well')).toBe('done ended-well');
    await again.client.call(method.cancelCall, direct('waiting-well'));
    const { calls } = await again.client.call(method.listCalls, {});
    expect(calls.map(({ callId, name, status, outcome }) => [callId, name, status, outcome.case])).toEqual([
      ['waiting-well', 'later', CallStatus.UNSPECIFIED, 'error'],
      ['waiting-sick', '', CallStatus.DAMAGED, undefined],
      ['ended-well', 't', CallStatus.UNSPECIFIED, 'result'],
      ['ended-sick', '', CallStatus.DAMAGED, undefined],
    ]);
    again.signal('SIGTERM');
    const { code, log } = await again.ended;
    expect(code).toBe(EXIT.ok);
    expect(log).toMatch(/the checksum does not fit event 1 of session call:waiting-sick/);
    expect(log).toMatch(/the checksum does not fit event 1 to 2 of session call:ended-sick/);
    expect(log).not.toContain('internal');
  });

  it('7.5: workers that bring a thousand new tools at the same time need few file handles', async () => {
    const engine = await served({ path: await newPath(), before: 'ulimit -n 256' });
    const address = await engine.ready;
    const workers = Array.from({ length: 20 }, (_, worker) =>
      connectWorker(
        address,
        helloOf(Array.from({ length: 50 }, (__, tool) => ({ name: `t${worker}_${tool}` }))),
      ),
    );
    const connected = await Promise.all(workers);
    const { tools } = await engine.client.call(method.listTools, { pageSize: 1_000 });
    for (const worker of connected) worker.vanish();
    expect(tools).toHaveLength(1_000);
  });

  it('7.4: a file that was cut is refused at the start, with what to do, and left as it is', async () => {
    const path = await newPath();
    const engine = await served({ path });
    await complete(engine, await engine.worker(), 'one');
    engine.signal('SIGTERM');
    await engine.ended;
    const { size } = await stat(path);
    await truncate(path, size - 4_096);
    const before = await readFile(path);
    const { code, log } = await serve({ path }).ended;
    expect(code).toBe(EXIT.journal);
    expect(log).toContain(path);
    expect(log).toMatch(/damaged.*[Rr]estore/s);
    expect((await readFile(path)).equals(before)).toBe(true);
  });

  it('7.4: a file that was emptied is refused while what it belonged to is there, and left as it is', async () => {
    const path = await newPath();
    const engine = await served({ path });
    await complete(engine, await engine.worker(), 'one');
    engine.signal('SIGTERM');
    await engine.ended;
    await truncate(path);
    const { code, log } = await serve({ path }).ended;
    expect(code).toBe(EXIT.journal);
    expect(log).toMatch(/it is empty, but .*blobs tells that an engine has kept data here/);
    expect((await stat(path)).size).toBe(0);
  });

  it('7.3: a second engine on the same file is refused, with what to do, and the first goes on', async () => {
    const path = await newPath();
    const engine = await served({ path });
    const worker = await engine.worker();
    await complete(engine, worker, 'one');
    const { code, log } = await serve({ path }).ended;
    expect(code).toBe(EXIT.journal);
    expect(log).toContain(`The journal ${path} is in use by another engine. Stop that one`);
    await complete(engine, worker, 'two');
    expect(await textOf(engine, 'one')).toBe('done one');
  });

  it('7.1: killed at any moment, it has everything that it acknowledged', async () => {
    const path = await newPath();
    const engine = await served({ path });
    const worker = await engine.worker();
    const ids = Array.from({ length: 20 }, (_, index) => `c${index}`);
    for (const id of ids) await complete(engine, worker, id);
    engine.signal('SIGKILL');
    await engine.ended;
    const again = await served({ path });
    for (const id of ids) expect(await textOf(again, id)).toBe(`done ${id}`);
  });
});
