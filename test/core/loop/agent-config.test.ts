import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AgentConfigSchema } from '../../../gen/spindle/v1/agent_pb.ts';
import {
  MAX_AGENT_CONFIG_BYTES,
  MAX_CONNECTOR_USES,
  MAX_GLOBS,
  MAX_ID_CHARS,
  MAX_JSON_FIELD_BYTES,
  MAX_MAX_ITERATIONS,
  MAX_SUBAGENTS,
  MAX_TOOLS_PER_AGENT,
} from '../../../src/core/limits.ts';
import { agentFault, jsonFault } from '../../../src/core/loop/agent-config.ts';

type AgentInit = MessageInitShape<typeof AgentConfigSchema>;

const agentOf = (config: AgentInit) =>
  create(AgentConfigSchema, { model: 'scripted/test', ...config } as AgentInit);

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** A limit, and a configuration of each size. */
const BOUNDS: readonly [string, number, (count: number) => AgentInit][] = [
  ['tools', MAX_TOOLS_PER_AGENT, (count) => ({ tools: many(count, (index) => ({ name: `t${index}` })) })],
  ['use_tools', MAX_GLOBS, (count) => ({ useTools: many(count, (index) => `t${index}`) })],
  [
    'subagents',
    MAX_SUBAGENTS,
    (count) => ({ subagents: many(count, (index) => ({ agentId: `a${index}` })) }),
  ],
  [
    'connectors',
    MAX_CONNECTOR_USES,
    (count) => ({ connectors: many(count, (index) => ({ connectorId: `c${index}` })) }),
  ],
  ['approval.names', MAX_GLOBS, (count) => ({ approval: { names: many(count, (index) => `t${index}`) } })],
  ['max_iterations', MAX_MAX_ITERATIONS, (count) => ({ maxIterations: count })],
];

describe('a configuration of an agent', () => {
  it.each(BOUNDS)('may have %s up to its limit of %d, and no more', (field, max, make) => {
    expect(agentFault(agentOf(make(max)))).toBeUndefined();
    expect(agentFault(agentOf(make(max + 1)))).toBe(
      `agent.${field} is ${max + 1}; at most ${max} is possible`,
    );
  });

  it('may be as large as its limit, and no larger', () => {
    const empty = toBinary(AgentConfigSchema, agentOf({ system: 'x'.repeat(MAX_AGENT_CONFIG_BYTES / 2) }));
    const rest = MAX_AGENT_CONFIG_BYTES - empty.byteLength + MAX_AGENT_CONFIG_BYTES / 2;
    const largest = agentOf({ system: 'x'.repeat(rest) });
    expect(toBinary(AgentConfigSchema, largest).byteLength).toBe(MAX_AGENT_CONFIG_BYTES);
    expect(agentFault(largest)).toBeUndefined();
    expect(agentFault(agentOf({ system: 'x'.repeat(rest + 1) }))).toMatch(/^agent is larger than/);
  });

  it.each<[string, AgentInit, RegExp]>([
    ['a model without a provider', { model: 'haiku' }, /agent\.model has to be provider\/model/],
    ['no model', { model: '' }, /agent\.model/],
    ["a tool of the engine's own name", { tools: [{ name: 'call_tool' }] }, /call_tool is a name/],
    ["a subagent of the engine's own name", { subagents: [{ agentId: 'submit_result' }] }, /submit_result/],
    ['a subagent without a name', { subagents: [{ agentId: '' }] }, /agent_id has to have/],
    ['a subagent of a long name', { subagents: [{ agentId: 'a'.repeat(MAX_ID_CHARS + 1) }] }, /agent_id/],
    ['settings that are no object', { modelSettingsJson: '[]' }, /model_settings_json has to hold/],
    ['settings that are no JSON', { modelSettingsJson: '{' }, /model_settings_json is no JSON/],
    ['a task that is no schema', { task: { resultSchemaJson: '7' } }, /result_schema_json/],
    ['a trigger that does not exist', { requiredTriggers: ['tool.finish'] }, /"tool\.finish" is no trigger/],
    ['a policy out of bounds', { retry: { base: { maxAttempts: 0 } } }, /agent\.retry\.base: retry\.max_/],
    ['a policy of a tool', { tools: [{ name: 't', retry: { maxAttempts: 0 } }] }, /agent\.tools: t: retry/],
  ])('with %s is refused with the field', (_, config, reason) => {
    expect(agentFault(agentOf(config))).toMatch(reason);
  });
});

describe('3.4: a field of JSON text', () => {
  const quoted = (bytes: number, character = 'x') =>
    `"${character.repeat((bytes - 2) / Buffer.byteLength(character))}"`;

  it.each(['x', 'é'])('3.4: has bytes of UTF-8 up to its limit, and no more (%s)', (character) => {
    expect(jsonFault('state_json', quoted(MAX_JSON_FIELD_BYTES, character), 'any')).toBeUndefined();
    const longer = quoted(MAX_JSON_FIELD_BYTES + 2, character);
    expect(jsonFault('state_json', longer, 'any')).toBe(
      `state_json is longer than ${MAX_JSON_FIELD_BYTES} bytes`,
    );
  });
});
