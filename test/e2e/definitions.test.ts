import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CallStatus } from '../../gen/spindle/v1/call_pb.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { method } from './raw-client.ts';
import { textResult } from './raw-worker.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

const start = (name: string, more: object = {}) =>
  engine.client.call(method.startCall, { call: { name, arguments: '{}', ...more } });
const end = async (callId: string) => {
  const watching = engine.client.stream(method.watchCall, { callId });
  return watching.take('end', ({ update }) =>
    update?.kind.case === 'finished' ? update.kind.value.outcome : undefined,
  );
};

describe('definitions', () => {
  const schemaOf = (required: string) => JSON.stringify({ type: 'object', required: [required] });

  it('5.11: the newest declared is in force; with only another connected the arguments are checked again', async () => {
    const old = await engine.worker([{ name: 'versioned', inputSchemaJson: schemaOf('old') }]);
    const newer = await engine.worker([{ name: 'versioned', inputSchemaJson: schemaOf('new') }]);
    const listed = await engine.client.call(method.listTools, { names: ['versioned'] });
    expect(listed.tools).toMatchObject([
      { tool: { inputSchemaJson: schemaOf('new') }, workers: 1, workersWithOtherDefinition: 1 },
    ]);
    for (let index = 0; index < 8; index++)
      await start('versioned', { callId: `versioned-${index}`, arguments: '{"new":1}' });
    for (let index = 0; index < 8; index++) {
      const { execute, leaseToken } = await newer.work();
      expect(execute.input?.status.case).toBe('valid');
      await newer.answer(leaseToken, textResult(''));
    }
    newer.send({ case: 'capacity', value: { maxInFlight: 0 } });
    await newer.heartbeat(8);
    const { call } = await start('versioned', { callId: 'versioned-waits', arguments: '{"new":1}' });
    expect(call?.status).toBe(CallStatus.QUEUED);
    newer.halfClose();
    await newer.status;
    const { execute, dispatch, leaseToken } = await old.work('versioned-waits');
    expect(execute.input?.status.case).toBe('invalid');
    expect(dispatch.proposed?.actions).toHaveLength(1);
    await old.answer(leaseToken, { case: 'accept', value: {} });
    expect((await end('versioned-waits')).value).toMatchObject({ code: 'invalid_arguments' });
    old.vanish();
  });

  it('5.11: set_tools replaces what a worker offers, names what was refused, and the last one counts', async () => {
    const worker = await engine.worker([{ name: 'set-old' }]);
    const fresh = (value: number) => ({
      case: 'setTools' as const,
      value: {
        tools: [
          { tool: { name: 'set-new', description: String(value) } },
          { tool: { name: 'set-bad', inputSchemaJson: '[' } },
        ],
      },
    });
    worker.send(fresh(1), fresh(2), fresh(3));
    for (let index = 0; index < 3; index++) {
      const { refusedTools } = await worker.next('toolsReply');
      expect(refusedTools.map(({ name }) => name)).toEqual(['set-bad']);
    }
    const { tools } = await engine.client.call(method.listTools, { names: ['set-*'] });
    expect(tools.map(({ tool }) => [tool?.name, tool?.description])).toEqual([['set-new', '3']]);
    worker.vanish();
  });

  it('1.2: a call that demands valid input is refused by the engine, also under another definition', async () => {
    const worker = await engine.worker([{ name: 'demanding', inputSchemaJson: schemaOf('a') }]);
    const answer = await engine.client.call(method.callTool, {
      name: 'demanding',
      arguments: '{}',
      requireValidInput: true,
    });
    expect(answer).toMatchObject({
      attempts: 0,
      outcome: { case: 'error', value: { code: 'invalid_arguments' } },
    });
    await worker.heartbeat(0);
    expect(worker.inbox.all.filter(({ kind }) => kind.case === 'dispatch')).toEqual([]);
    worker.vanish();
  });
});
