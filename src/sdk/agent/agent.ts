import type { AgentConfig } from '../../../gen/spindle/v1/agent_pb.ts';
import type { Dispatch } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { TRIGGERS, type TriggerName } from '../../core/trigger-name.ts';
import { type Members, refuseUnknown } from '../known-members.ts';
import type { TaskOptions, TaskOutput } from '../task.ts';
import type { Tool } from '../tool.ts';
import { messageOf } from '../tool-error.ts';
import { flatten, type Toolchain } from '../toolchain.ts';
import type { Work } from '../work.ts';
import { type AgentWork, createAgentWork } from './agent-work.ts';
import { checkedId, configOf, SETTING_MEMBERS } from './config.ts';
import { CONTEXT_LEVELS, type ContextName, type DecisionHandlers } from './decision-context.ts';
import type { ModelHandler } from './model-handler.ts';
import type { AgentSettings } from './settings.ts';
import type { ToolSource } from './tool-source.ts';

export interface AgentOptions<Task extends TaskOptions | undefined = TaskOptions | undefined>
  extends Omit<AgentSettings, 'tools' | 'task'> {
  /** Names the agent: sessions are created with it. 1 to 128 characters. */
  readonly id: string;
  /** What it does, for models that may call it as a subagent. */
  readonly description?: string;
  /**
   * Tools and toolchains of this agent alone, in the order in which the model sees them; or a function that gives
   * them anew before each model call. A tool that the worker offers to all is named in `useTools` instead.
   */
  readonly tools?: readonly (Tool | Toolchain)[] | ToolSource;
  /** The turn has to end with this value (6.12). */
  readonly task?: Task;
  /** Decides what happens next, by trigger. Others take the proposal at once. */
  readonly on?: DecisionHandlers;
  /** Makes the model calls in place of the engine. */
  readonly onModelExecute?: ModelHandler;
  /**
   * How much of the session goes with each dispatch: the trigger alone, its state, or the conversation as well.
   * `full` where there are handlers or a function gives the tools, else `trigger`.
   */
  readonly context?: ContextName;
}

/** A defined agent. `Output` is what a turn of it ends with, where it has a task. */
export interface Agent<Output = unknown> {
  readonly id: string;
  readonly description: string;
  /** Proposed at session.start. Where a function gives the tools, it holds none yet. */
  readonly config: AgentConfig;
  /** What a turn of it has to end with. */
  readonly task: TaskOptions | undefined;
  /** The part of its work that this process takes. */
  readonly binding: Pick<AgentWork, 'triggers' | 'context'>;
  /** The tools that it declares and runs; those of a function are not among them. */
  readonly tools: readonly Tool[];
  /** What a dispatch asks of it; undefined for what is none of its work. */
  readonly work: (dispatch: Dispatch) => Work | undefined;
  /** Carries the type alone; never set. */
  readonly types?: { readonly output: Output };
}

const MEMBERS: Members<AgentOptions> = {
  ...SETTING_MEMBERS,
  id: true,
  description: true,
  on: true,
  onModelExecute: true,
  context: true,
};

/**
 * Defines an agent: how it thinks, what it may call, and what this process decides for it.
 *
 *     const clerk = defineAgent({
 *       id: 'clerk',
 *       model: 'anthropic/claude-haiku-4-5',
 *       system: 'You answer questions about orders.',
 *       tools: [findOrder],
 *       on: {
 *         'tool.finished': ({ trigger, proposal, state }) => ({ ...proposal, state: { last: trigger.name } }),
 *       },
 *     });
 *
 * Throws an Error that names the agent and the option that breaks a rule.
 */
export function defineAgent<Task extends TaskOptions | undefined = undefined>(
  options: AgentOptions<Task>,
): Agent<TaskOutput<Task>> {
  const id = checkedId(options.id);
  const what = `agent ${id}`;
  refuseUnknown(options, MEMBERS, what);
  refuseUnknown(options.on, HANDLER_MEMBERS, `${what}: on`);
  const { description = '', tools: given = [], task, on = {}, onModelExecute, context, ...rest } = options;
  const { id: _, ...settings } = rest;
  const toolSource = typeof given === 'function' ? given : undefined;
  const tools = typeof given === 'function' ? [] : flattened(given, what);
  if (onModelExecute !== undefined && settings.modelHandler === 'engine') {
    throw new Error(`${what}: onModelExecute is never called with modelHandler 'engine': give one of them`);
  }
  const handlesModel = onModelExecute === undefined ? {} : { modelHandler: 'worker' as const };
  const ends = task === undefined ? {} : { task };
  const config = configOf({ ...settings, ...ends, tools, ...handlesModel }, what);
  const decides = toolSource !== undefined || Object.keys(on).length > 0;
  const level = context ?? (decides ? 'full' : 'trigger');
  if (!Object.hasOwn(CONTEXT_LEVELS, level)) {
    throw new Error(`${what}: context is ${JSON.stringify(level)}; it has to be trigger, state or full`);
  }
  if (toolSource !== undefined && level !== 'full') {
    throw new Error(
      `${what}: a function that gives the tools sees the conversation: leave context away, or 'full'`,
    );
  }
  const work = createAgentWork({
    agentId: id,
    tools,
    toolSource,
    handlers: on,
    modelHandler: onModelExecute,
    context: CONTEXT_LEVELS[level],
    hasTask: task !== undefined,
  });
  return Object.freeze({
    id,
    description,
    config,
    task,
    binding: { triggers: work.triggers, context: work.context },
    tools,
    work: work.take,
  });
}

const HANDLER_MEMBERS: Readonly<Record<string, true>> = Object.fromEntries(
  TRIGGERS.filter((name): name is Exclude<TriggerName, 'model.execute'> => name !== 'model.execute').map(
    (name) => [name, true] as const,
  ),
);

function flattened(tools: readonly (Tool | Toolchain)[], what: string): readonly Tool[] {
  try {
    return flatten(tools, 'its tools');
  } catch (error) {
    throw new Error(`${what}: tools: ${messageOf(error)}`, { cause: error });
  }
}
