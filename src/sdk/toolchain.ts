import { create } from '@bufbuild/protobuf';
import { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { refuseUnknown } from './known-members.ts';
import type { Tool } from './tool.ts';

export interface ToolchainOptions {
  /** The namespace of its tools: billing, say. */
  readonly id: string;
  /** What the tools are for. A model that searches reads it (6.8). */
  readonly description: string;
  /** Each without a namespace of its own. Toolchains do not nest: a namespace is one flat name. */
  readonly tools: readonly Tool[];
}

/** Related tools under one namespace. Their names stay as they are. */
export interface Toolchain {
  readonly id: string;
  readonly description: string;
  readonly tools: readonly Tool[];
}

/** Groups tools. Throws an Error for an empty id, a name that comes twice, or a tool with another namespace. */
export function defineToolchain(options: ToolchainOptions): Toolchain {
  const { id, description } = options;
  refuseUnknown(options, { id: true, description: true, tools: true }, `toolchain ${id}`);
  if (id.trim() === '') throw new Error('a toolchain needs an id: it is the namespace of its tools');
  for (const { name, definition } of options.tools) {
    if (definition.namespace !== '' && definition.namespace !== id) {
      throw new Error(
        `toolchain ${id}: tool ${name} is in the namespace ${definition.namespace} already: define it without one`,
      );
    }
  }
  const tools = options.tools.map((tool) =>
    Object.freeze({
      ...tool,
      definition: create(ToolSchema, {
        ...tool.definition,
        namespace: id,
        namespaceDescription: description,
      }),
    }),
  );
  return Object.freeze({ id, description, tools: distinct(tools, `toolchain ${id}`) });
}

/** The tools of both kinds of entry, in order. Throws where a name comes twice. */
export function flatten(entries: readonly (Tool | Toolchain)[], what: string): readonly Tool[] {
  return distinct(
    entries.flatMap((entry) => ('tools' in entry ? entry.tools : [entry])),
    what,
  );
}

function distinct(tools: readonly Tool[], what: string): readonly Tool[] {
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name)) throw new Error(`${what}: two tools are named ${name}: a name is unique`);
    names.add(name);
  }
  return tools;
}
