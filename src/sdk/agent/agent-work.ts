import type { ToolExecute } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { ContextLevel, Dispatch } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { failure } from '../../core/failure.ts';
import { TRIGGERS, type TriggerName } from '../../core/trigger-name.ts';
import type { Tool } from '../tool.ts';
import { failureOf } from '../tool-error.ts';
import { toolWork } from '../tool-work.ts';
import type { Ending, Work, WorkHooks } from '../work.ts';
import { type Decider, decide, decideCall } from './decide.ts';
import { proposalOf } from './decision.ts';
import {
  type DecisionContext,
  type DecisionHandlers,
  type DecisionTrigger,
  decisionContext,
  triggerNameOf,
} from './decision-context.ts';
import { handleModelCall, type ModelHandler } from './model-handler.ts';
import { messagesBefore, sourcedTools, type ToolSource } from './tool-source.ts';

export interface AgentWorkOptions {
  readonly agentId: string;
  readonly tools: readonly Tool[];
  readonly toolSource: ToolSource | undefined;
  readonly handlers: DecisionHandlers;
  readonly modelHandler: ModelHandler | undefined;
  readonly context: ContextLevel;
  readonly hasTask: boolean;
}

/** What one process does for an agent. */
export interface AgentWork {
  /** The triggers that it wants, in the order of the contract. */
  readonly triggers: readonly TriggerName[];
  readonly context: ContextLevel;
  /** What a dispatch asks; undefined where the agent has nothing for it. */
  readonly take: (dispatch: Dispatch) => Work | undefined;
}

/** Triggers whose proposal may call the model: before that call the tools are given anew (6.3). */
const LEADS_TO_MODEL_CALL: readonly TriggerName[] = [
  'client.messages',
  'tool.finished',
  'subagent.finished',
  'interrupt.resumed',
];

export function createAgentWork(options: AgentWorkOptions): AgentWork {
  const { agentId, toolSource, handlers, modelHandler, context } = options;
  const tools = new Map(options.tools.map((tool) => [tool.name, tool]));
  const runsTools = toolSource !== undefined || options.tools.some(({ handle }) => handle !== undefined);

  const wanted = new Set<string>(Object.keys(handlers));
  if (runsTools) wanted.add('tool.execute');
  if (modelHandler !== undefined) wanted.add('model.execute');
  if (toolSource !== undefined) {
    for (const name of LEADS_TO_MODEL_CALL) wanted.add(name);
    // A reminder of a task is a model call that the end of another one leads to (6.12).
    if (options.hasTask) wanted.add('model.finished');
  }

  const deciderOf = (name: DecisionTrigger): Decider => {
    const handler = handlers[name];
    return {
      agentId,
      context,
      toolSource,
      // The context is that of the trigger that the handler is found by.
      handler: handler?.bind(handlers) as Decider['handler'],
    };
  };

  const decisionWork = (name: Exclude<DecisionTrigger, 'tool.execute'>, dispatch: Dispatch): Work => ({
    subject: { kind: 'decision', decisionId: dispatch.decisionId, agentId, trigger: name },
    start: (hooks) => decide(deciderOf(name), dispatch, hooks),
  });

  const callWork = (dispatch: Dispatch, execute: ToolExecute): Work | undefined => {
    const tool = tools.get(execute.name);
    if (tool?.handle !== undefined) return toolWork(tool, dispatch, execute);
    if (toolSource === undefined && handlers['tool.execute'] === undefined) return undefined;
    return {
      subject: { kind: 'call', callId: execute.callId, toolName: execute.name },
      start: (hooks) => runUndeclared(dispatch, execute, hooks),
    };
  };

  const toolsAtCall = (source: ToolSource, { config, state, messages }: DecisionContext, callId: string) =>
    sourcedTools(source, { config, state, messages: messagesBefore(messages, callId) });

  /** Runs a call of a tool that a function gave, or that the agent's own handler of tool.execute deals with. */
  async function runUndeclared(dispatch: Dispatch, execute: ToolExecute, hooks: WorkHooks): Promise<Ending> {
    try {
      const session = decisionContext(dispatch, proposalOf(undefined), context, hooks.signal);
      const given = toolSource === undefined ? [] : await toolsAtCall(toolSource, session, execute.callId);
      const tool = given.find(({ name, handle }) => name === execute.name && handle !== undefined);
      if (tool !== undefined) return await toolWork(tool, dispatch, execute).start(hooks);
    } catch (thrown) {
      return { kind: 'answered', outcome: { case: 'error', value: failureOf(thrown) } };
    }
    if (handlers['tool.execute'] !== undefined) return decideCall(deciderOf('tool.execute'), dispatch, hooks);
    const gone = `The agent ${agentId} has no tool ${execute.name} any more.`;
    return { kind: 'answered', outcome: { case: 'error', value: failure('unknown_tool', gone) } };
  }

  return {
    triggers: TRIGGERS.filter((name) => wanted.has(name)),
    context,
    take(dispatch) {
      const name = triggerNameOf(dispatch.trigger);
      const kind = dispatch.trigger?.kind;
      if (name === undefined || !wanted.has(name)) return undefined;
      if (kind?.case === 'toolExecute') return callWork(dispatch, kind.value);
      if (kind?.case === 'modelExecute') {
        const { value: execute } = kind;
        if (modelHandler === undefined) return undefined;
        return {
          subject: { kind: 'decision', decisionId: execute.callId, agentId, trigger: name },
          start: async (hooks) => ({
            kind: 'answered',
            outcome: await handleModelCall(modelHandler, dispatch, execute, hooks),
          }),
        };
      }
      return name === 'tool.execute' || name === 'model.execute' ? undefined : decisionWork(name, dispatch);
    },
  };
}
