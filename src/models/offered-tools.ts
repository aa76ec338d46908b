import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_CACHED_PROJECTIONS } from '../core/limits.ts';
import type { ToolLeftOut } from '../engine/ports.ts';
import { createCache } from '../schema/cache.ts';
import { type Projection, project } from '../schema/projection/project.ts';
import type { ProviderKind } from './provider-settings.ts';
import type { ProviderTraits } from './provider-traits.ts';
import type { ToolNames } from './tool-names.ts';

export interface OfferedTools {
  readonly tools: LanguageModelV4FunctionTool[];
  readonly leftOut: readonly ToolLeftOut[];
  /** Names of tools for which the model writes null for what it leaves out (2.6). */
  readonly nullForAbsent: ReadonlySet<string>;
}

export type OfferTools = (tools: readonly Tool[], names: ToolNames) => OfferedTools;

/** Makes the definitions that a provider gets. Projections are kept, since each iteration offers the same tools. */
export function createOfferTools(kind: ProviderKind, traits: ProviderTraits): OfferTools {
  const cache = createCache<Projection>(MAX_CACHED_PROJECTIONS);
  const projectionOf = (schemaJson: string, strict: boolean): Projection =>
    cache.fetch(`${strict} ${schemaJson}`, () => project(kind, schemaJson, strict));
  return (tools, names) => {
    const leftOut: ToolLeftOut[] = [];
    const nullForAbsent = new Set<string>();
    let strictTools = 0;
    const offered = tools.flatMap((tool): LanguageModelV4FunctionTool[] => {
      const wantsStrict = tool.strict && strictTools < traits.maxStrictTools;
      const projection = projectionOf(tool.inputSchemaJson, wantsStrict);
      if (projection.kind === 'impossible') {
        leftOut.push({ name: tool.name, reason: projection.reason });
        return [];
      }
      const { schema, strict, nullForAbsent: writesNull } = projection.projected;
      if (strict) strictTools += 1;
      if (writesNull) nullForAbsent.add(tool.name);
      const grouped = traits.namespaces && tool.namespace !== '';
      return [
        {
          type: 'function',
          name: names.toProvider(tool.name),
          ...(tool.description === '' ? {} : { description: tool.description }),
          inputSchema: schema,
          // Where a tool says nothing, some providers are strict, and refuse schemas that are not.
          strict,
          ...(grouped
            ? { providerOptions: { [traits.namespace]: { namespace: groupOf(tool, tools) } } }
            : {}),
        },
      ];
    });
    return { tools: offered, leftOut, nullForAbsent };
  };
}

/** A group has one description: the first that a tool of it has. */
function groupOf(tool: Tool, tools: readonly Tool[]): { name: string; description: string } {
  const { namespace } = tool;
  const described = tools.find((other) => other.namespace === namespace && other.namespaceDescription !== '');
  return { name: groupName(namespace), description: described?.namespaceDescription ?? namespace };
}

function groupName(namespace: string): string {
  return namespace.replaceAll(/[^\w-]/g, '_').slice(0, 64);
}
