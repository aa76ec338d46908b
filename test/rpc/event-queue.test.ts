import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { type SessionEvent, SessionEventSchema } from '../../gen/spindle/v1/event_pb.ts';
import type { SessionUpdate } from '../../gen/spindle/v1/session_service_pb.ts';
import { MAX_QUEUED_UPDATES } from '../../src/core/limits.ts';
import { newSession } from '../../src/core/session.ts';
import { createEventQueue } from '../../src/rpc/event-queue.ts';

const SESSION = newSession('conversation');
const event = (sequence: number): SessionEvent => create(SessionEventSchema, { sequence });

describe('a reader of a session', () => {
  it('5.10: gets a log that is longer than what waits for it, as fast as it reads', async () => {
    const queue = createEventQueue({ wants: () => true, wantsDeltas: false, isLast: () => false });
    const read: (number | undefined)[] = [];
    const write = async (update: SessionUpdate): Promise<void> => {
      // A reader that lets others go first with everything that it takes.
      await new Promise(setImmediate);
      read.push(update.kind.case === 'event' ? update.kind.value.sequence : undefined);
    };
    const pumping = queue.pump({ write }, (update) => update, new AbortController().signal);
    const long = 3 * MAX_QUEUED_UPDATES;
    for (let sequence = 1; sequence <= long; sequence++) {
      queue.follower.events([event(sequence)], SESSION);
      await queue.follower.room?.();
    }
    queue.end();
    expect(await pumping).toMatchObject({ ok: true });
    expect(read).toEqual(Array.from({ length: long }, (_, index) => index + 1));
  });

  it('5.10: that does not read what happens is dropped, and holds nobody up', async () => {
    const queue = createEventQueue({ wants: () => true, wantsDeltas: false, isLast: () => false });
    const never = (): Promise<void> => new Promise(() => undefined);
    queue.pump({ write: never }, (update) => update, new AbortController().signal).catch(() => undefined);
    for (let sequence = 1; sequence <= 2 * MAX_QUEUED_UPDATES; sequence++)
      queue.follower.events([event(sequence)], SESSION);
    await expect(queue.follower.room?.()).resolves.toBeUndefined();
  });
});
