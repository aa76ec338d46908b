import { describe, expect, it } from 'vitest';
import { createTurns } from '../../src/journal/turns.ts';

describe('createTurns', () => {
  it('runs no more than so many tasks at once, in order, also where some fail', async () => {
    const turn = createTurns(3);
    const begun: number[] = [];
    let running = 0;
    let most = 0;
    const tasks = Array.from({ length: 50 }, (_, index) =>
      turn(async () => {
        begun.push(index);
        most = Math.max(most, ++running);
        await new Promise(setImmediate);
        running -= 1;
        if (index % 7 === 0) throw new Error(`task ${index}`);
        return index;
      }),
    );
    const ends = await Promise.allSettled(tasks);
    expect(most).toBe(3);
    expect(begun).toEqual(begun.toSorted((a, b) => a - b));
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(8);
    expect(await turn(async () => 'still there')).toBe('still there');
  });
});
