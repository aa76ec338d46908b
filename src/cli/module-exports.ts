import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent, Tool, Toolchain } from '../sdk/worker/index.ts';
import { CommandError } from './command-error.ts';
import { EXIT } from './exit-code.ts';

/** What a worker can serve of a module. */
export interface ModuleExports {
  readonly tools: readonly (Tool | Toolchain)[];
  readonly agents: readonly Agent[];
}

/**
 * The tools, toolchains and agents that a module exports: by name, by default, alone or in arrays. What is exported
 * twice is served once, and a tool that is in a toolchain as well is served in that.
 */
export async function moduleExports(file: string): Promise<ModuleExports> {
  const url = pathToFileURL(resolve(file)).href;
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = await import(url);
  } catch (error) {
    const why = isMissing(error, url) ? 'there is no such file.' : ownStack(error);
    throw new CommandError(EXIT.usage, 'unreadable_module', `${file} cannot be loaded: ${why}`);
  }
  const values = [...new Set(Object.values(exported).flat())];
  const agents = values.filter(isAgent);
  const entries = values.filter((value) => isTool(value) || isToolchain(value));
  const chained = new Set(
    entries.filter(isToolchain).flatMap(({ tools }) => tools.map(({ handle }) => handle)),
  );
  const tools = entries.filter((entry) => isToolchain(entry) || !chained.has(entry.handle));
  if (tools.length > 0 || agents.length > 0) return { tools, agents };
  throw new CommandError(
    EXIT.usage,
    'no_tools',
    `${file} exports no tool and no agent.`,
    "Export what `defineTool` or `defineAgent` of 'spindle/worker' returns: export const greet = defineTool({ … })",
  );
}

function isMissing(error: unknown, url: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    'url' in error &&
    error.url === url
  );
}

/** What is ours or Node's in a stack: it says nothing about what the module does. */
const FOREIGN_FRAME = /^\s+at .*(?:node:|\/node_modules\/)/;
const OWN_SOURCES = new URL('../', import.meta.url).href;
const IMPORTER = ` resolving ES modules imported from ${import.meta.filename}`;

/** What was thrown, with those frames of its stack alone that are of the user's own files. */
function ownStack(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return (
    (error.stack ?? error.message)
      .split('\n')
      // Node says who imports, which is this file where the module itself cannot be read.
      .map((line) => line.replace(IMPORTER, ''))
      .filter((line) => !FOREIGN_FRAME.test(line) && !(/^\s+at /.test(line) && line.includes(OWN_SOURCES)))
      .join('\n')
  );
}

function isTool(value: unknown): value is Tool {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    'definition' in value &&
    'handle' in value
  );
}

function isAgent(value: unknown): value is Agent {
  return (
    typeof value === 'object' && value !== null && 'id' in value && 'binding' in value && 'work' in value
  );
}

function isToolchain(value: unknown): value is Toolchain {
  return (
    typeof value === 'object' &&
    value !== null &&
    !isAgent(value) &&
    'id' in value &&
    'tools' in value &&
    Array.isArray(value.tools)
  );
}
