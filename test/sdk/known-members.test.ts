import { describe, expect, it } from 'vitest';
import { createClient } from '../../src/sdk/index.ts';
import { refuseUnknown } from '../../src/sdk/known-members.ts';
import { createWorker, defineClientTool, defineTool, defineToolchain } from '../../src/sdk/worker/index.ts';

const members = { execute: true, schema: true, outputSchema: true } as const;

describe('an option that nothing reads', () => {
  it.each([
    ['excute', 'did you mean execute?'],
    ['exceute', 'did you mean execute?'],
    ['Schema', 'did you mean schema?'],
    ['outputschema', 'did you mean outputSchema?'],
    ['handler', 'there are execute, outputSchema, schema'],
  ])('is refused by its name: %s', (name, advice) => {
    expect(() => refuseUnknown({ execute: 1, [name]: 1 }, members, 'tool x')).toThrow(
      `tool x: there is no option "${name}": ${advice}`,
    );
  });

  it('is not looked for in an instance of a class, nor in what is no object', () => {
    class Options {
      readonly excute = 1;
    }
    for (const given of [new Options(), undefined, null, 'text', { execute: 1 }, { __proto__: null }]) {
      expect(() => refuseUnknown(given, members, 'tool x')).not.toThrow();
    }
  });

  const extra = { colour: 'red' };
  const tool = { name: 'x', description: 'x', execute: () => 'x' };
  it.each<[string, () => unknown]>([
    ['defineTool', () => defineTool({ ...tool, ...extra })],
    ['defineTool, in its policy', () => defineTool({ ...tool, retry: extra as object })],
    ['defineTool, in its annotations', () => defineTool({ ...tool, annotations: extra as object })],
    ['defineClientTool', () => defineClientTool({ name: 'x', description: 'x', ...extra })],
    ['defineToolchain', () => defineToolchain({ id: 'x', description: 'x', tools: [], ...extra })],
    ['createWorker', () => createWorker({ tools: [], ...extra })],
    ['createClient', () => createClient({ ...(extra as object) })],
  ])('is refused by %s', (_, define) => {
    expect(define).toThrow('there is no option "colour"');
  });
});
