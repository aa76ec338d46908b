import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DeferStrategy, IterationLimit, ModelHandler } from '../../../gen/spindle/v1/agent_pb.ts';
import { ArgumentRepair, ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import {
  type AgentOptions,
  agentConfig,
  changedConfig,
  createWorker,
  defineAgent,
  defineClientTool,
  defineTool,
  defineToolchain,
} from '../../../src/sdk/worker/index.ts';

const tool = (name: string) => defineTool({ name, description: name, execute: () => name });
const MODEL = 'anthropic/claude-haiku-4-5';

describe('an agent', () => {
  it('becomes the configuration that the contract knows', () => {
    const writer = defineAgent({ id: 'writer', model: MODEL, description: 'Writes.' });
    const { config } = defineAgent({
      id: 'clerk',
      model: MODEL,
      system: 'Be brief.',
      tools: [
        tool('a'),
        defineToolchain({ id: 'shop', description: 'The shop.', tools: [tool('b')] }),
        defineClientTool({ name: 'c', description: 'c' }),
      ],
      useTools: ['weather*'],
      subagents: [writer, { agent: 'reader', description: 'Reads.' }],
      connectors: [{ id: 'github', include: ['issues*'], readOnly: true, defer: false }],
      maxIterations: 4,
      onIterationLimit: 'fail',
      deferTools: { maxMatches: 3, strategy: 'load' },
      retry: { base: { totalTimeoutMs: 1_000 }, model: { maxAttempts: 2 } },
      modelSettings: { temperature: 0 },
      task: { result: z.array(z.string()), maxReminders: 0 },
      approval: { names: ['refund'], destructive: true },
      argumentRepair: 'bounded',
      maxTokensPerTurn: 10_000,
      requiredTriggers: ['client.messages'],
      modelHandler: 'engine',
    });
    expect(config).toMatchObject({
      model: MODEL,
      system: 'Be brief.',
      tools: [
        { name: 'a', handler: ToolHandler.WORKER },
        { name: 'b', namespace: 'shop' },
        { name: 'c', handler: ToolHandler.CLIENT },
      ],
      useTools: ['weather*'],
      subagents: [
        { agentId: 'writer', description: 'Writes.' },
        { agentId: 'reader', description: 'Reads.' },
      ],
      connectors: [{ connectorId: 'github', include: ['issues*'], readOnly: true, deferLoading: false }],
      maxIterations: 4,
      onIterationLimit: IterationLimit.FAIL,
      deferTools: { maxMatches: 3, strategy: DeferStrategy.LOAD },
      retry: { base: { totalTimeout: { seconds: 1n } }, model: { maxAttempts: 2 } },
      modelSettingsJson: '{"temperature":0}',
      task: { maxReminders: 0 },
      approval: { names: ['refund'], destructive: true },
      argumentRepair: ArgumentRepair.BOUNDED,
      maxTokensPerTurn: 10_000,
      requiredTriggers: ['client.messages'],
      modelHandler: ModelHandler.ENGINE,
    });
    expect(JSON.parse(config.task?.resultSchemaJson ?? '')).toMatchObject({
      type: 'array',
      items: { type: 'string' },
    });
  });

  it.each<[string, Partial<AgentOptions>, RegExp]>([
    ['no id', { id: '' }, /id has 1 to 128 characters/],
    ['a model without a provider', { model: 'haiku' }, /agent clerk: model is "haiku"; .*provider\/model/],
    [
      'a misspelt option',
      { systm: 'x' } as object,
      /agent clerk: there is no option "systm": did you mean system/,
    ],
    [
      'a handler of what is no trigger',
      { on: { 'tool.finish': () => undefined } as object },
      /agent clerk: on: there is no option "tool.finish"/,
    ],
    [
      'a handler of model.execute',
      { on: { 'model.execute': () => 0 } as object },
      /no option "model.execute"/,
    ],
    ['a tool twice', { tools: [tool('a'), tool('a')] }, /agent clerk: tools: .*two tools are named a/],
    [
      'a subagent without a description',
      { subagents: [{ id: 'x', description: '' }] },
      /agent x has no description/,
    ],
    ['no iterations', { maxIterations: 0 }, /agent clerk: maxIterations: it is 0/],
    ['a task that JSON Schema cannot say', { task: z.date() }, /agent clerk: task: .*at the root/],
    [
      'a policy out of range',
      { retry: { tool: { maxAttempts: 0 } } },
      /agent clerk: retry: maxAttempts is 0/,
    ],
    ['a misspelt policy', { retry: { tools: {} } as object }, /did you mean tool\?/],
    [
      'an unknown trigger',
      { requiredTriggers: ['x' as never] },
      /agent clerk: requiredTriggers: "x" is no trigger/,
    ],
    [
      'a function for the tools and too little context',
      { tools: () => [], context: 'state' },
      /sees the conversation/,
    ],
    ['an unknown context', { context: 'all' as never }, /context is "all"/],
    ['two model handlers', { modelHandler: 'engine', onModelExecute: () => '' }, /never called/],
    ['too large a configuration', { system: 'x'.repeat(1_048_577) }, /has \d+ bytes, and may have 1048576/],
  ])('is refused for %s', (_, options, reason) => {
    expect(() => defineAgent({ id: 'clerk', model: MODEL, ...options })).toThrow(reason);
  });

  it('changes single settings of a configuration, and takes away what it defers', () => {
    const config = agentConfig({ model: MODEL, system: 'Be brief.', deferTools: true, maxIterations: 2 });
    const changed = changedConfig(config, { deferTools: false, maxIterations: 3 });
    expect(changed).toMatchObject({ model: MODEL, system: 'Be brief.', maxIterations: 3 });
    expect(changed.deferTools).toBeUndefined();
    expect(config).toMatchObject({ maxIterations: 2, deferTools: {} });
    expect(() => changedConfig(config, { model: 'x' })).toThrow(/changedConfig: model/);
  });
});

describe('the agents of a worker', () => {
  const agent = (id: string, ...tools: ReturnType<typeof tool>[]) => defineAgent({ id, model: MODEL, tools });

  it('have ids of their own', () => {
    expect(() => createWorker({ agents: [agent('a'), agent('a')] })).toThrow(/two agents are named a/);
  });

  it('4.11: declare no tool that an offered one of another making would hide', () => {
    const shared = tool('shared');
    expect(() => createWorker({ agents: [agent('a', tool('x'))], tools: [tool('x')] })).toThrow(
      /offers a tool x, and the agent a declares another one/,
    );
    const worker = createWorker({ agents: [agent('a', shared)], tools: [shared] });
    expect(() => worker.setTools([tool('shared')])).toThrow(/offers a tool shared/);
  });

  it('are refused together where no hello could carry them', () => {
    const large = Array.from({ length: 5 }, (_, index) =>
      defineAgent({ id: `a${index}`, model: MODEL, system: 'x'.repeat(1_000_000) }),
    );
    expect(() => createWorker({ agents: large })).toThrow(/split the worker/);
  });
});
