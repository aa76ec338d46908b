import * as published from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, it } from 'vitest';
import * as names from '../../src/telemetry/conventions.ts';

const PUBLISHED: ReadonlySet<unknown> = new Set(Object.values(published));
const OURS = Object.values(names).filter((name) => typeof name === 'string');

describe('the names of attributes', () => {
  it('8.3: are those of the published conventions, or are under spindle.', () => {
    const foreign = OURS.filter((name) => !name.startsWith('spindle.') && name !== names.OTHER);
    expect(foreign.length).toBeGreaterThan(15);
    expect(foreign.filter((name) => !PUBLISHED.has(name))).toEqual([]);
  });

  it('8.6: of metrics are those of the conventions 0.1.0, or are under spindle.', () => {
    const foreign = Object.values(names.METRIC).filter((name) => !name.startsWith('spindle.'));
    // The package of names is older than the conventions that have these.
    expect(foreign.toSorted()).toEqual([
      'gen_ai.client.inference.duration',
      'gen_ai.execute_tool.duration',
      'gen_ai.invoke_agent.duration',
    ]);
  });
});
