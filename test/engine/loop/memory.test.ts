import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ResumeInterruptRequestSchema } from '../../../gen/spindle/v1/session_service_pb.ts';
import type { SessionFollower } from '../../../src/engine/watchers.ts';
import { CALLER } from '../virtual.ts';
import { type LoopWorld, loopWorld, SESSION, TURN, textResult } from './loop-world.ts';

const HELLO = { instanceId: 'w', streamNumber: 1, tools: [{ tool: { name: 'read' } }] };
const DEAF: SessionFollower = { events: () => undefined, delta: () => undefined, lost: () => undefined };

/** Sessions that the engine holds in memory. */
function held({ engine }: LoopWorld): number {
  return engine.engine.sessionsInMemory();
}

async function worldOfOneTurn(): Promise<LoopWorld> {
  const world = await loopWorld([{ calls: [{ id: 'a', name: 'read', arguments: {} }] }, 'Read.', 'Again.']);
  await world.worker(HELLO, () => textResult('ok'));
  await world.start();
  return world;
}

describe('7.2: a session that owes nothing leaves memory', () => {
  it('7.2: after it was created, after its turn, and after it was read', async () => {
    const world = await worldOfOneTurn();
    expect(held(world)).toBe(0);
    await world.say('Read.');
    expect(await world.ended()).toMatchObject({ case: 'finished' });
    expect(held(world)).toBe(0);
    const { conversations } = world.engine.engine;
    await conversations.get(CALLER, SESSION);
    await conversations.turn(CALLER, SESSION, TURN);
    await conversations.cancelTurn(CALLER, SESSION, '', '');
    const answer = create(ResumeInterruptRequestSchema, { sessionId: SESSION, interruptId: 'none' });
    await conversations.resume(CALLER, answer);
    expect(held(world)).toBe(0);
    expect(world.engine.clock.alarms).toBeLessThan(10);
  });

  it('7.2: not before its last watcher has left', async () => {
    const world = await worldOfOneTurn();
    const { conversations } = world.engine.engine;
    const first = await conversations.follow(CALLER, SESSION, 0, DEAF);
    const second = await conversations.follow(CALLER, SESSION, 0, DEAF);
    expect(held(world)).toBe(1);
    if (first.ok) first.value();
    expect(held(world)).toBe(1);
    if (second.ok) second.value();
    expect(held(world)).toBe(0);
  });

  it('7.2: and whoever comes while another leaves follows the session that goes on', async () => {
    const world = await worldOfOneTurn();
    const { conversations } = world.engine.engine;
    const kinds: string[] = [];
    const listening: SessionFollower = {
      ...DEAF,
      events: (events) => void kinds.push(...events.map(({ kind }) => kind.case ?? '')),
    };
    for (let round = 0; round < 5; round += 1) {
      const leaving = conversations.follow(CALLER, SESSION, 0, DEAF).then((followed) => {
        if (followed.ok) followed.value();
      });
      await Promise.all([
        leaving,
        conversations.cancelTurn(CALLER, SESSION, '', ''),
        conversations.follow(CALLER, SESSION, 3, listening),
      ]);
    }
    expect(held(world)).toBe(1);
    await world.say('Read.');
    expect(kinds.filter((kind) => kind === 'turnEnded')).toHaveLength(5);
  });

  it('7.2: and one that waits for a person stays, also after a restart', async () => {
    const world = await worldOfOneTurn();
    await world.start({ approval: { names: ['*'] } }, 'careful');
    await world.say('Read.', { sessionId: 'careful' });
    expect(held(world)).toBe(1);
    const again = await world.restart();
    expect(held(again)).toBe(1);
    await again.engine.engine.conversations.cancelTurn(CALLER, 'careful', '', '');
    await again.engine.advance(0);
    expect(held(again)).toBe(0);
  });

  it('7.2: and a deleted one is gone, its log as well', async () => {
    const world = await worldOfOneTurn();
    await world.say('Read.');
    const { conversations } = world.engine.engine;
    expect(await conversations.remove(CALLER, SESSION)).toMatchObject({ ok: true });
    expect(held(world)).toBe(0);
    expect(await world.log()).toEqual([]);
    expect(await conversations.get(CALLER, SESSION)).toMatchObject({
      ok: false,
      refusal: { reason: 'session_not_found' },
    });
    expect(await conversations.remove(CALLER, SESSION)).toMatchObject({ ok: false });
  });
});
