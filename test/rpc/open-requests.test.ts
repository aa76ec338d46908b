import { describe, expect, it } from 'vitest';
import { type Refusal, refused } from '../../src/core/refusal.ts';
import { createOpenRequests } from '../../src/rpc/open-requests.ts';

describe('open requests', () => {
  it('are idle where there is none', async () => {
    await createOpenRequests().idle();
  });

  it('are idle once the last one has left, however often it says so', async () => {
    const requests = createOpenRequests();
    const [first, second] = [requests.add(() => undefined), requests.add(() => undefined)];
    let idle = false;
    const waiting = requests.idle().then(() => {
      idle = true;
    });
    first();
    first();
    await Promise.resolve();
    expect(idle).toBe(false);
    second();
    await waiting;
    expect(idle).toBe(true);
  });

  it('are all told to stop, also those that leave while they are told', () => {
    const requests = createOpenRequests();
    const stopped: Refusal[] = [];
    const leave = [0, 1, 2].map((index) =>
      requests.add((refusal) => {
        stopped.push(refusal);
        leave[index]?.();
      }),
    );
    const { refusal } = refused('shutting_down', 'Bye.');
    requests.stopAll(refusal);
    expect(stopped).toEqual([refusal, refusal, refusal]);
  });
});
