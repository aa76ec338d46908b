import { describe, expect, it } from 'vitest';
import type { FrameKind } from '../e2e/raw-worker.ts';
import { hello } from '../engine/virtual.ts';
import { registryWorld } from './registry-world.ts';

describe('a worker that declares its tools again', () => {
  it('5.10: is not read while they are being stored, so that what it sends meanwhile waits with it', async () => {
    const world = registryWorld();
    const stored = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const asked: unknown[] = [];
    const { listener } = world.registry;
    world.registry.listen({
      ...listener,
      declared: async (_tenant, definitions) => {
        if (definitions.length > 0) await stored[asked.push(definitions) - 1]?.promise;
      },
    });
    const stream = await world.connect(hello('w', []));
    const declaration = (): FrameKind => ({ case: 'setTools', value: { tools: [{ tool: { name: 't' } }] } });
    await stream.send(declaration(), declaration());
    expect([stream.paused, asked.length]).toEqual([true, 1]);
    stored[0]?.resolve();
    await stream.heartbeat(0);
    expect([stream.paused, asked.length]).toEqual([true, 2]);
    stored[1]?.resolve();
    await stream.heartbeat(0);
    expect(stream.paused).toBe(false);
    expect(stream.frames.filter(({ kind }) => kind.case === 'toolsReply')).toHaveLength(2);
  });
});
