import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type AgentConfig,
  AgentConfigSchema,
  type ConnectorUseSchema,
  DeferStrategy,
  IterationLimit,
  ModelHandler,
  type SubagentSchema,
} from '../../../gen/spindle/v1/agent_pb.ts';
import { type RetryPolicies, RetryPoliciesSchema } from '../../../gen/spindle/v1/retry_pb.ts';
import { ArgumentRepair } from '../../../gen/spindle/v1/tool_pb.ts';
import { MAX_AGENT_CONFIG_BYTES, MAX_ID_CHARS, MAX_TOOLS_PER_AGENT } from '../../core/limits.ts';
import { isTriggerName, TRIGGERS } from '../../core/trigger-name.ts';
import { jsonText } from '../json.ts';
import { type Members, refuseUnknown } from '../known-members.ts';
import { taskContractOf } from '../task.ts';
import { retryPolicyOf } from '../tool-definition.ts';
import { messageOf } from '../tool-error.ts';
import { flatten } from '../toolchain.ts';
import type { AgentSettings, ConnectorOptions, SubagentOptions } from './settings.ts';

export const SETTING_MEMBERS: Members<AgentSettings> = {
  model: true,
  system: true,
  tools: true,
  useTools: true,
  subagents: true,
  connectors: true,
  maxIterations: true,
  onIterationLimit: true,
  deferTools: true,
  retry: true,
  modelSettings: true,
  task: true,
  approval: true,
  argumentRepair: true,
  maxTokensPerTurn: true,
  requiredTriggers: true,
  modelHandler: true,
};

/** The configuration that settings stand for. Throws an Error that names the setting that breaks a rule. */
export function agentConfig(settings: AgentSettings): AgentConfig {
  refuseUnknown(settings, SETTING_MEMBERS, 'agentConfig');
  return configOf(settings, 'agentConfig');
}

/**
 * A configuration with some settings in place of its own, for a decision to return:
 *
 *     return { ...proposal, config: changedConfig(config, { model: 'anthropic/claude-opus-4-5' }) };
 */
export function changedConfig(config: AgentConfig, changes: Partial<AgentSettings>): AgentConfig {
  refuseUnknown(changes, SETTING_MEMBERS, 'changedConfig');
  return checked(
    create(AgentConfigSchema, { ...config, ...fieldsOf(changes, 'changedConfig') }),
    'changedConfig',
  );
}

/** @param what names the agent in errors */
export function configOf(settings: AgentSettings, what: string): AgentConfig {
  return checked(create(AgentConfigSchema, fieldsOf(settings, what)), what);
}

function checked(config: AgentConfig, what: string): AgentConfig {
  if (!/^[^\s/]+\/\S+$/.test(config.model)) {
    throw new Error(
      `${what}: model is ${JSON.stringify(config.model)}; it has to be provider/model: anthropic/claude-haiku-4-5, say`,
    );
  }
  const bytes = toBinary(AgentConfigSchema, config).length;
  if (bytes > MAX_AGENT_CONFIG_BYTES) {
    throw new Error(
      `${what}: the configuration has ${bytes} bytes, and may have ${MAX_AGENT_CONFIG_BYTES}: offer tools by the worker and name them in useTools`,
    );
  }
  return config;
}

type Fields = Partial<Omit<AgentConfig, '$typeName' | '$unknown'>>;

/** The fields of what is set. */
function fieldsOf(settings: Partial<AgentSettings>, what: string): Fields {
  const within = <Value, Made>(option: string, value: Value | undefined, make: (value: Value) => Made) => {
    if (value === undefined) return undefined;
    try {
      return make(value);
    } catch (error) {
      throw new Error(`${what}: ${option}: ${messageOf(error)}`, { cause: error });
    }
  };
  const { model, system, useTools, approval } = settings;
  const fields = {
    model,
    system,
    tools: within('tools', settings.tools, (tools) => toolMessages(tools)),
    useTools: useTools && [...useTools],
    subagents: within('subagents', settings.subagents, (subagents) => subagents.map(subagentOf)),
    connectors: within('connectors', settings.connectors, (connectors) => connectors.map(connectorOf)),
    maxIterations: within('maxIterations', settings.maxIterations, positive),
    onIterationLimit: settings.onIterationLimit && ITERATION_LIMITS[settings.onIterationLimit],
    deferTools: within('deferTools', settings.deferTools || undefined, deferredOf),
    retry: within('retry', settings.retry, policiesOf),
    modelSettingsJson: within('modelSettings', settings.modelSettings, (value) => jsonText(value)),
    modelHandler: settings.modelHandler && MODEL_HANDLERS[settings.modelHandler],
    task: within('task', settings.task, taskContractOf),
    approval: within('approval', approval, (policy) => {
      refuseUnknown(policy, { names: true, destructive: true }, 'approval');
      return { names: [...(policy.names ?? [])], destructive: policy.destructive ?? false };
    }),
    argumentRepair: settings.argumentRepair && REPAIRS[settings.argumentRepair],
    maxTokensPerTurn: within('maxTokensPerTurn', settings.maxTokensPerTurn, positive),
    requiredTriggers: within('requiredTriggers', settings.requiredTriggers, triggerNames),
  };
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  const made = create(AgentConfigSchema, Object.fromEntries(set));
  const names = set.map(([name]) => name as keyof typeof fields);
  // `false` takes away what a configuration had.
  if (settings.deferTools === false) names.push('deferTools');
  return Object.fromEntries(names.map((name) => [name, made[name]]));
}

const ITERATION_LIMITS = { final_answer: IterationLimit.FINAL_ANSWER, fail: IterationLimit.FAIL };
const MODEL_HANDLERS = { engine: ModelHandler.ENGINE, worker: ModelHandler.WORKER };
const REPAIRS = { never: ArgumentRepair.NEVER, bounded: ArgumentRepair.BOUNDED };
const STRATEGIES = { call: DeferStrategy.CALL, load: DeferStrategy.LOAD };

export function toolMessages(tools: NonNullable<AgentSettings['tools']>) {
  const flat = flatten(tools, 'the tools of an agent');
  if (flat.length > MAX_TOOLS_PER_AGENT) {
    throw new Error(
      `an agent has at most ${MAX_TOOLS_PER_AGENT} tools of its own, and these are ${flat.length}`,
    );
  }
  return flat.map(({ definition }) => definition);
}

function subagentOf(
  subagent: SubagentOptions | { readonly id: string; readonly description: string },
): MessageInitShape<typeof SubagentSchema> {
  if (!('agent' in subagent)) {
    if (subagent.description === '') {
      throw new Error(
        `agent ${subagent.id} has no description: the model decides by it; say { agent, description }`,
      );
    }
    return { agentId: subagent.id, description: subagent.description };
  }
  refuseUnknown(subagent, { agent: true, description: true }, 'a subagent');
  const { agent, description } = subagent;
  return { agentId: checkedId(typeof agent === 'string' ? agent : agent.id), description };
}

function connectorOf(connector: ConnectorOptions): MessageInitShape<typeof ConnectorUseSchema> {
  const members: Members<ConnectorOptions> = {
    id: true,
    include: true,
    exclude: true,
    readOnly: true,
    nonDestructive: true,
    idempotent: true,
    defer: true,
  };
  refuseUnknown(connector, members, 'a connector');
  const { id, include = [], exclude = [], defer } = connector;
  const { readOnly = false, nonDestructive = false, idempotent = false } = connector;
  return {
    connectorId: id,
    include: [...include],
    exclude: [...exclude],
    readOnly,
    nonDestructive,
    idempotent,
    ...(defer === undefined ? {} : { deferLoading: defer }),
  };
}

function deferredOf(how: Exclude<AgentSettings['deferTools'], false | undefined>) {
  if (how === true) return {};
  refuseUnknown(how, { maxMatches: true, strategy: true }, 'deferTools');
  const { maxMatches, strategy } = how;
  return {
    ...(maxMatches === undefined ? {} : { maxMatches: positive(maxMatches) }),
    ...(strategy === undefined ? {} : { strategy: STRATEGIES[strategy] }),
  };
}

function policiesOf(retry: NonNullable<AgentSettings['retry']>): RetryPolicies {
  refuseUnknown(retry, { base: true, tool: true, model: true, subagent: true, connector: true }, 'retry');
  return create(
    RetryPoliciesSchema,
    Object.fromEntries(Object.entries(retry).map(([kind, policy]) => [kind, retryPolicyOf(policy)])),
  );
}

function triggerNames(names: readonly string[]): string[] {
  const unknown = names.find((name) => !isTriggerName(name));
  if (unknown !== undefined) {
    throw new Error(`${JSON.stringify(unknown)} is no trigger; there are ${TRIGGERS.join(', ')}`);
  }
  return [...names];
}

function positive(value: number): number {
  if (!Number.isInteger(value) || value < 1 || value > 0xffff_ffff) {
    throw new Error(`it is ${value}, and has to be an integer from 1`);
  }
  return value;
}

/** The rule of ids: 1 to MAX_ID_CHARS characters. */
export function checkedId(id: string): string {
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_CHARS) {
    throw new Error(`an agent's id has 1 to ${MAX_ID_CHARS} characters, not ${JSON.stringify(id)}`);
  }
  return id;
}
