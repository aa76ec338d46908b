import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Tool, Toolchain } from '../sdk/worker/index.ts';
import { CommandError } from './command-error.ts';
import { EXIT } from './exit-code.ts';

/**
 * The tools and toolchains that a module exports: by name, by default, alone or in arrays. What is exported
 * twice is served once, and a tool that is in a toolchain as well is served in that.
 */
export async function exportedTools(file: string): Promise<readonly (Tool | Toolchain)[]> {
  const url = pathToFileURL(resolve(file)).href;
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = await import(url);
  } catch (error) {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new CommandError(EXIT.usage, 'unreadable_module', `${file} cannot be loaded: ${why}`);
  }
  const entries = [...new Set(Object.values(exported).flat())].filter(
    (value) => isTool(value) || isToolchain(value),
  );
  const chained = new Set(
    entries.filter(isToolchain).flatMap(({ tools }) => tools.map(({ handle }) => handle)),
  );
  const wanted = entries.filter((entry) => isToolchain(entry) || !chained.has(entry.handle));
  if (wanted.length > 0) return wanted;
  throw new CommandError(
    EXIT.usage,
    'no_tools',
    `${file} exports no tool.`,
    "Export what `defineTool` of 'spindle/worker' returns: export const greet = defineTool({ … })",
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

function isToolchain(value: unknown): value is Toolchain {
  return (
    typeof value === 'object' &&
    value !== null &&
    'id' in value &&
    'tools' in value &&
    Array.isArray(value.tools)
  );
}
