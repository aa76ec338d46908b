import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  ArgumentRepair,
  ExecutionMode,
  InvalidInputHandling,
  ToolHandler,
} from '../../gen/spindle/v1/tool_pb.ts';
import { defineClientTool, defineTool, defineToolchain } from '../../src/sdk/index.ts';

const minimal = { name: 'weather', description: 'The weather.', execute: () => 'sunny' };

describe('defineTool', () => {
  it('reaches every field of the definition', () => {
    const tool = defineTool({
      ...minimal,
      schema: z.object({ city: z.string() }),
      outputSchema: z.object({ celsius: z.number() }),
      strict: true,
      namespace: 'sky',
      namespaceDescription: 'What is above.',
      defer: true,
      executionMode: 'sequential',
      annotations: {
        title: 'Weather',
        readOnly: true,
        destructive: false,
        idempotent: true,
        openWorld: true,
      },
      retry: {
        queueTimeoutMs: 1,
        runTimeoutMs: 1_500,
        totalTimeoutMs: 3_000,
        heartbeatTimeoutMs: 4,
        maxAttempts: 5,
        initialBackoffMs: 6,
        maxBackoffMs: 7,
        backoffMultiplier: 1.5,
      },
      argumentRepair: 'bounded',
      invalidInput: 'engine',
      endsTurn: true,
      maxConcurrency: 3,
      execute: () => ({ celsius: 21 }),
    });
    expect(tool.maxConcurrency).toBe(3);
    expect(tool.definition).toMatchObject({
      name: 'weather',
      description: 'The weather.',
      handler: ToolHandler.WORKER,
      deferLoading: true,
      strict: true,
      namespace: 'sky',
      namespaceDescription: 'What is above.',
      executionMode: ExecutionMode.SEQUENTIAL,
      annotations: {
        title: 'Weather',
        readOnly: true,
        destructive: false,
        idempotent: true,
        openWorld: true,
      },
      retry: {
        queueTimeout: { seconds: 0n, nanos: 1_000_000 },
        runTimeout: { seconds: 1n, nanos: 500_000_000 },
        totalTimeout: { seconds: 3n },
        heartbeatTimeout: { nanos: 4_000_000 },
        maxAttempts: 5,
        initialBackoff: { nanos: 6_000_000 },
        maxBackoff: { nanos: 7_000_000 },
        backoffMultiplier: 1.5,
      },
      argumentRepair: ArgumentRepair.BOUNDED,
      endsTurn: true,
      invalidInputHandling: InvalidInputHandling.ENGINE,
    });
    expect(JSON.parse(tool.definition.inputSchemaJson)).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    });
    expect(JSON.parse(tool.definition.outputSchemaJson)).toMatchObject({ required: ['celsius'] });
  });

  it('leaves unset what the author left unset, so that wider layers decide (4.1)', () => {
    const { definition } = defineTool(minimal);
    expect(definition).toMatchObject({ inputSchemaJson: '', outputSchemaJson: '', namespace: '' });
    expect(definition.deferLoading).toBeUndefined();
    expect(definition.annotations).toBeUndefined();
    expect(definition.retry).toBeUndefined();
    expect(
      defineTool({ ...minimal, retry: { maxAttempts: 2 } }).definition.retry?.runTimeout,
    ).toBeUndefined();
    const annotated = defineTool({ ...minimal, annotations: { readOnly: true } }).definition.annotations;
    expect(annotated?.readOnly).toBe(true);
    expect(annotated?.idempotent).toBeUndefined();
  });

  it('2.5: a raw jsonSchema beside the Zod schema goes on the wire as it is', () => {
    const jsonSchema = { type: 'object', required: ['city'], 'x-mine': [1] };
    const beside = defineTool({ ...minimal, schema: z.object({ at: z.date() }), jsonSchema });
    expect(JSON.parse(beside.definition.inputSchemaJson)).toEqual(jsonSchema);
    const alone = defineTool({ ...minimal, jsonSchema });
    expect(JSON.parse(alone.definition.inputSchemaJson)).toEqual(jsonSchema);
  });

  it.each([
    ['an empty name', { name: '' }, /tool "": a name is/],
    ['white space in a name', { name: 'a b' }, /tool "a b": a name is/],
    ['a control character in a name', { name: 'a\u0007' }, /a name is/],
    ['a long name', { name: 'é'.repeat(257) }, /1 to 256/],
    ['no time at all', { retry: { runTimeoutMs: 0 } }, /tool weather: retry: runTimeoutMs is 0/],
    ['an endless time', { retry: { runTimeoutMs: Number.POSITIVE_INFINITY } }, /runTimeoutMs is Infinity/],
    ['half an attempt', { retry: { maxAttempts: 1.5 } }, /maxAttempts is 1.5/],
    ['too many attempts', { retry: { maxAttempts: 101 } }, /1 to 100/],
    ['a shrinking backoff', { retry: { backoffMultiplier: 0.5 } }, /at least 1/],
    ['half a slot', { maxConcurrency: 0.5 }, /tool weather: maxConcurrency is 0.5/],
    [
      'a handler that is never called',
      { invalidInput: 'engine', onInvalidInput: () => 'x' },
      /onInvalidInput/,
    ],
    [
      'a schema that is no JSON',
      { jsonSchema: { type: () => 1 } },
      /tool weather: schema: .*\/type is a function/,
    ],
  ] as const)('refuses %s', (_, options, message) => {
    expect(() => defineTool({ ...minimal, ...options })).toThrow(message);
  });

  it('2.5: what JSON Schema cannot express fails the definition, with tool, option and path', () => {
    const schema = z.object({ days: z.array(z.object({ at: z.date() })) });
    expect(() => defineTool({ ...minimal, schema })).toThrow(
      /tool weather: schema: Date .* at \/properties\/days\/items\/properties\/at/,
    );
    const outputSchema = z.object({ at: z.date() });
    expect(() => defineTool({ ...minimal, outputSchema, execute: () => ({ at: new Date() }) })).toThrow(
      /tool weather: outputSchema: Date .* at \/properties\/at/,
    );
  });

  it('accepts names of 256 characters, whatever their length in UTF-16', () => {
    expect(defineTool({ ...minimal, name: '𝕏'.repeat(256) }).name).toHaveLength(512);
  });
});

describe('defineClientTool', () => {
  it('6.9: declares a tool that a client runs', () => {
    const tool = defineClientTool({ name: 'pick', description: 'Asks.', schema: z.object({}) });
    expect(tool.definition.handler).toBe(ToolHandler.CLIENT);
    expect(tool.handle).toBeUndefined();
  });
});

describe('defineToolchain', () => {
  const weather = defineTool(minimal);

  it('gives its tools its namespace, and leaves the originals alone', () => {
    const sky = defineToolchain({ id: 'sky', description: 'What is above.', tools: [weather] });
    expect(sky.tools.map((tool) => tool.definition)).toMatchObject([
      { name: 'weather', namespace: 'sky', namespaceDescription: 'What is above.' },
    ]);
    expect(weather.definition.namespace).toBe('');
  });

  it.each([
    ['an empty id', () => defineToolchain({ id: ' ', description: '', tools: [] }), /needs an id/],
    [
      'a name that comes twice',
      () => defineToolchain({ id: 'sky', description: '', tools: [weather, weather] }),
      /toolchain sky: two tools are named weather/,
    ],
    [
      'a tool of another namespace',
      () => {
        const sky = defineToolchain({ id: 'sky', description: '', tools: [weather] });
        return defineToolchain({ id: 'earth', description: '', tools: sky.tools });
      },
      /toolchain earth: tool weather is in the namespace sky/,
    ],
  ])('refuses %s', (_, define, message) => {
    expect(define).toThrow(message);
  });
});
