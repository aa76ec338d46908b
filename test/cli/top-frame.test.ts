import { describe, expect, it } from 'vitest';
import { quantile, readSamples, sumOf } from '../../src/cli/metrics-text.ts';
import { frameOf } from '../../src/cli/top-frame.ts';

const DURATION = 'gen_ai_execute_tool_duration';

/** A page on which a tool has ended so many calls, half of them within 10 ms and the others within 20 ms. */
function page(ended: number, failed: number): string {
  const of = (outcome: string, count: number): string =>
    [
      `${DURATION}_count{gen_ai_tool_name="echo",spindle_tool_outcome="${outcome}"} ${count}`,
      `${DURATION}_bucket{gen_ai_tool_name="echo",spindle_tool_outcome="${outcome}",le="0.01"} ${count / 2}`,
      `${DURATION}_bucket{gen_ai_tool_name="echo",spindle_tool_outcome="${outcome}",le="0.02"} ${count}`,
      `${DURATION}_bucket{gen_ai_tool_name="echo",spindle_tool_outcome="${outcome}",le="+Inf"} ${count}`,
    ].join('\n');
  return `# HELP x\n${of('succeeded', ended - failed)}\n${of('failed', failed)}\nspindle_workers_connected 3\n`;
}

describe('what a page of metrics says', () => {
  it('is read with labels that hold quotes, commas and braces', () => {
    expect(readSamples('a{x="1,\\"}",y="\\\\n"} 2\nb 3e2\n# c 4\n\n')).toEqual([
      { name: 'a', labels: { x: '1,"}', y: '\\n' }, value: 2 },
      { name: 'b', labels: {}, value: 300 },
    ]);
  });

  it('adds up over the labels that nobody asked for', () => {
    const samples = readSamples(page(10, 4));
    expect(sumOf(samples, `${DURATION}_count`, { gen_ai_tool_name: 'echo' })).toBe(10);
    expect(sumOf(samples, `${DURATION}_count`, { spindle_tool_outcome: 'failed' })).toBe(4);
  });

  it.each([
    [0.25, 0.005],
    [0.5, 0.01],
    [0.75, 0.015],
    [1, 0.02],
  ])('has its quantile %d within the bucket', (share, expected) => {
    const pages = [readSamples(page(0, 0)), readSamples(page(8, 0))] as const;
    expect(quantile(pages, DURATION, {}, share)).toBeCloseTo(expected, 6);
  });

  it('has no quantile of nothing', () => {
    const pages = [readSamples(page(8, 0)), readSamples(page(8, 0))] as const;
    expect(quantile(pages, DURATION, {}, 0.5)).toBeUndefined();
  });
});

describe('a picture of spindle top', () => {
  it('is what happened between two looks, the busiest tool first', () => {
    const served = new Map([
      ['idle', 1],
      ['echo', 2],
    ]);
    const frame = frameOf({ page: page(10, 4), at: 1_000 }, { page: page(30, 9), at: 3_000 }, served);
    expect(frame).toMatchObject({ callsPerSecond: 10, workers: 3 });
    expect(frame.tools.map(({ name }) => name)).toEqual(['echo', 'idle']);
    expect(frame.tools[0]).toMatchObject({ workers: 2, callsPerSecond: 10, failed: 0.25, p50Ms: 10 });
    expect(frame.tools[1]).toMatchObject({
      workers: 1,
      callsPerSecond: 0,
      failed: undefined,
      p50Ms: undefined,
    });
  });

  it('is not confused by an engine that was restarted', () => {
    const frame = frameOf({ page: page(30, 9), at: 0 }, { page: page(2, 0), at: 1_000 }, new Map());
    expect(frame.callsPerSecond).toBe(0);
  });
});
