import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Who may import whom: the table of docs/architecture.md. A folder may always import itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: ['gen'],
  schema: ['core', 'gen'],
  journal: ['core', 'schema', 'gen', 'engine/ports'],
  workers: ['core', 'schema', 'gen', 'engine/ports'],
  models: ['core', 'schema', 'gen', 'engine/ports'],
  connectors: ['core', 'schema', 'gen', 'engine/ports'],
  gateway: ['core', 'engine', 'sdk', 'gen'],
  telemetry: ['core', 'schema', 'gen', 'engine/ports'],
  engine: ['core', 'schema', 'gen'],
  access: ['core', 'gen', 'engine/ports'],
  rpc: ['core', 'engine', 'workers', 'access', 'gen'],
  sdk: ['core', 'schema', 'gen'],
  conformance: ['core', 'rpc', 'gen'],
  cli: ['sdk', 'config'],
  config: ['core', 'gen', 'access/settings'],
  administration: ['access', 'core', 'engine/ports', 'journal', 'system'],
  'engine-options': ['access', 'connectors', 'engine/ports', 'gen', 'models', 'telemetry'],
  'start-error': [],
  store: ['access', 'engine/ports', 'journal', 'start-error'],
  system: ['core', 'engine/ports'],
  main: ['*'],
};
/** Single files with a right of their own. */
const EXCEPTIONS: Record<string, readonly string[]> = {
  'cli/serve.ts': ['main'],
  'cli/conformance.ts': ['conformance'],
  'cli/connectors.ts': ['connectors', 'main', 'schema', 'system'],
  'cli/trace.ts': ['telemetry'],
  'cli/mcp.ts': ['gateway'],
  'cli/token-access.ts': ['administration'],
  'cli/audit-verify.ts': ['administration'],
  'cli/diagnose.ts': ['schema', 'models/provider-traits', 'models/tool-names'],
};

const root = resolve(import.meta.dirname, '..');
const src = join(root, 'src');

interface Import {
  readonly from: string;
  readonly to: string;
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The paths, relative to src/, of what a file of ours imports; what is outside src/ starts at the root. */
function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].flatMap(
    (match) => match[1] ?? [],
  );
  return specifiers.map((specifier) => {
    const target = resolve(dirname(file), specifier);
    const inSrc = relative(src, target);
    return { from: relative(src, file), to: inSrc.startsWith('..') ? relative(root, target) : inSrc };
  });
}

function layerOf(path: string): string {
  return (path.split('/')[0] ?? '').replace(/\.ts$/, '');
}

function permitted({ from, to }: Import): boolean {
  const layer = layerOf(from);
  const allowed = [...(MAY_IMPORT[layer] ?? []), ...(EXCEPTIONS[from] ?? [])];
  if (layerOf(to) === layer || allowed.includes('*')) return true;
  return allowed.includes(layerOf(to)) || allowed.includes(to.replace(/\.ts$/, ''));
}

describe('the import table of docs/architecture.md', () => {
  const files = sources(src);
  const imports = files.flatMap(importsOf);

  it('looks at the sources of every folder it has a row for', () => {
    const folders = new Set(files.map((file) => layerOf(relative(src, file))));
    expect([...folders].filter((folder) => !(folder in MAY_IMPORT))).toEqual([]);
    expect(files.length).toBeGreaterThan(10);
    expect(imports.length).toBeGreaterThan(files.length);
  });

  it('is kept by every import', () => {
    expect(imports.filter((entry) => !permitted(entry))).toEqual([]);
  });

  it('would notice a forbidden import', () => {
    expect(permitted({ from: 'core/decide.ts', to: 'engine/ports.ts' })).toBe(false);
    expect(permitted({ from: 'sdk/worker.ts', to: 'workers/catalog.ts' })).toBe(false);
    expect(permitted({ from: 'journal/sqlite.ts', to: 'engine/engine.ts' })).toBe(false);
  });
});
