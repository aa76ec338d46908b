import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { type CallUpdate, CallUpdateSchema } from '../../gen/spindle/v1/tool_service_pb.ts';
import { GATEWAY_PAGE_BYTES, GATEWAY_PROGRESS_BURST, MAX_GATEWAY_EVENTS } from '../../src/core/limits.ts';
import { createEventStore } from '../../src/gateway/event-store.ts';
import { pageOf } from '../../src/gateway/page.ts';
import { createProgressNotes } from '../../src/gateway/progress-notes.ts';

const message = (text: string) => ({
  jsonrpc: '2.0' as const,
  method: 'notifications/message',
  params: { text },
});

describe('the events that a session keeps', () => {
  it('are replayed behind the last one that the client got, of its own stream alone', async () => {
    const store = createEventStore();
    const first = await store.storeEvent('a', message('1'));
    await store.storeEvent('b', message('2'));
    const third = await store.storeEvent('a', message('3'));
    const sent: unknown[] = [];
    const stream = await store.replayEventsAfter(first, {
      send: async (id, event) => void sent.push([id, event]),
    });
    expect([stream, sent]).toEqual(['a', [[third, message('3')]]]);
  });

  it('are bounded, and one that is gone is nothing to resume from', async () => {
    const store = createEventStore();
    const first = await store.storeEvent('a', message('1'));
    for (let count = 0; count < MAX_GATEWAY_EVENTS; count++) await store.storeEvent('a', message('x'));
    expect(await store.getStreamIdForEventId?.(first)).toBeUndefined();
    await expect(store.replayEventsAfter(first, { send: async () => undefined })).rejects.toThrow('not kept');
  });

  it('are bounded in bytes as well', async () => {
    const store = createEventStore();
    const first = await store.storeEvent('a', message('1'));
    const large = await store.storeEvent('a', message('x'.repeat(20_000_000)));
    expect(await store.getStreamIdForEventId?.(first)).toBeUndefined();
    expect(await store.getStreamIdForEventId?.(large)).toBe('a');
  });
});

describe('notes of progress', () => {
  const update = (kind: NonNullable<MessageInitShape<typeof CallUpdateSchema>['kind']>): CallUpdate =>
    create(CallUpdateSchema, { callId: 'c', kind });
  const progress = (completed: number | undefined, activity = '') =>
    update({
      case: 'progress',
      value: { activity, ...(completed === undefined ? {} : { completed, total: 9 }) },
    });

  it('grow with each note, whatever a tool reports', () => {
    const notes = createProgressNotes(() => 0);
    const given = [
      progress(0),
      progress(2, 'two'),
      progress(1),
      progress(2),
      progress(undefined, 'x'),
      progress(3),
    ];
    expect(given.map(notes)).toEqual([
      { progress: 0, total: 9 },
      { progress: 2, total: 9, message: 'two' },
      undefined,
      undefined,
      undefined,
      { progress: 3, total: 9 },
    ]);
  });

  it('are counted where a tool counts nothing', () => {
    const notes = createProgressNotes(() => 0);
    expect(notes(progress(undefined, 'reading'))).toEqual({ progress: 1, message: 'reading' });
    expect(notes(update({ case: 'interrupted', value: {} }))).toEqual({
      progress: 2,
      message: 'Waiting for a person',
    });
    expect(notes(update({ case: 'queued', value: {} }))).toBeUndefined();
  });

  it('are thinned out where a tool floods them', () => {
    let now = 0;
    const notes = createProgressNotes(() => now);
    const flood = (count: number): number =>
      Array.from({ length: count }, () => notes(progress(undefined, 'x'))).filter(
        (note) => note !== undefined,
      ).length;
    expect(flood(10_000)).toBe(GATEWAY_PROGRESS_BURST);
    now += 1_000;
    expect(flood(10_000)).toBe(10);
  });
});

describe('a page of a list', () => {
  const tool = (name: string, bytes = 0) => ({
    name,
    description: 'x'.repeat(bytes),
    inputSchema: { type: 'object' as const },
  });

  it('holds what fits, and the cursor leads to the rest', () => {
    const tools = ['a', 'b', 'c'].map((name) => tool(name, GATEWAY_PAGE_BYTES / 2));
    const names: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = pageOf(tools, cursor);
      names.push(page?.tools.map(({ name }) => name) ?? []);
      cursor = page?.next;
    } while (cursor !== undefined);
    expect(names).toEqual([['a'], ['b'], ['c']]);
  });

  it('goes on behind a tool that is gone', () => {
    const large = ['a', 'b', 'c'].map((name) => tool(name, GATEWAY_PAGE_BYTES));
    const cursor = pageOf(large, undefined)?.next;
    expect(pageOf(large.slice(1), cursor)?.tools[0]?.name).toBe('b');
  });

  it.each(['', '%', 'no cursor of ours'])('is none where the cursor is %o', (cursor) => {
    expect(pageOf([tool('a')], cursor)).toBeUndefined();
  });
});
