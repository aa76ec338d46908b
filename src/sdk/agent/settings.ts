import type { TriggerName } from '../../core/trigger-name.ts';
import type { JsonObject } from '../json.ts';
import type { TaskOptions } from '../task.ts';
import type { Tool } from '../tool.ts';
import type { RetryOptions } from '../tool-options.ts';
import type { Toolchain } from '../toolchain.ts';

/** Another agent that the model sees as a tool with one argument, `message` (6.10). */
export interface SubagentOptions {
  /** The agent, or its id. The id is also the tool's name. */
  readonly agent: string | { readonly id: string };
  /** What it does. The model reads this to decide whether to call it. */
  readonly description: string;
}

/** Tools of an MCP server that the engine holds (6.15). The filters only ever take tools away. */
export interface ConnectorOptions {
  /** The connector, as the deployment names it. */
  readonly id: string;
  /** Take only tools whose name on the server matches one of these globs. */
  readonly include?: readonly string[];
  /** Then leave out those that match one of these. */
  readonly exclude?: readonly string[];
  readonly readOnly?: boolean;
  readonly nonDestructive?: boolean;
  readonly idempotent?: boolean;
  /** Defer them (6.8). The agent decides where it is not given. */
  readonly defer?: boolean;
}

/** How an agent thinks and what it may call: AgentConfig, as one writes it in TypeScript. */
export interface AgentSettings {
  /** `provider/model`: anthropic/claude-haiku-4-5, say. */
  readonly model: string;
  /** The instructions. */
  readonly system?: string;
  /** Tools and toolchains that only this agent has, in the order in which the model sees them. */
  readonly tools?: readonly (Tool | Toolchain)[];
  /** Globs over the names of tools that connected workers offer. */
  readonly useTools?: readonly string[];
  /** Other agents that the model may call. An agent stands for itself where it has a description. */
  readonly subagents?: readonly (SubagentOptions | { readonly id: string; readonly description: string })[];
  readonly connectors?: readonly ConnectorOptions[];
  /** The most model calls in one turn. 8 where it is not given (6.4). */
  readonly maxIterations?: number;
  /** What happens then: one more call without tools, or the end of the turn. `final_answer` if not given. */
  readonly onIterationLimit?: 'final_answer' | 'fail';
  /** Keep tools out of the request until a search finds them (6.8). */
  readonly deferTools?: boolean | { readonly maxMatches?: number; readonly strategy?: 'call' | 'load' };
  /** Retry policies: `base` for everything, refined by kind (4.1). */
  readonly retry?: Readonly<
    Partial<Record<'base' | 'tool' | 'model' | 'subagent' | 'connector', RetryOptions>>
  >;
  /** Sampling and other settings for the provider. */
  readonly modelSettings?: JsonObject;
  /** The turn has to end with this value (6.12). */
  readonly task?: TaskOptions;
  /** Calls that wait for a person before they run (6.11). */
  readonly approval?: { readonly names?: readonly string[]; readonly destructive?: boolean };
  /** What to do with arguments that are not JSON, for tools that do not say (1.7). */
  readonly argumentRepair?: 'never' | 'bounded';
  /** The most tokens, input and output, that one turn may use (6.4). */
  readonly maxTokensPerTurn?: number;
  /** Triggers whose proposal never applies by itself: without a worker that decides, the turn waits, and then fails. */
  readonly requiredTriggers?: readonly TriggerName[];
  /** Who makes the model calls. `onModelExecute` makes it the worker. */
  readonly modelHandler?: 'engine' | 'worker';
}
