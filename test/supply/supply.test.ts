import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockedPackages } from './packages.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const page = readFileSync(resolve(ROOT, 'docs/supply.md'), 'utf8');
const packages = lockedPackages();

const REGISTRY = 'https://registry.npmjs.org/';

/** The first cells of the rows of a table under a heading. */
function rowsUnder(heading: string): string[] {
  const [, rest = ''] = page.split(`## ${heading}`);
  const [section = ''] = rest.split('\n## ');
  return [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, cell = '']) => cell);
}

describe('what is installed', () => {
  it('9.1: comes from the registry, with a checksum, and nothing else does', () => {
    expect(packages.length).toBeGreaterThan(100);
    const others = packages.filter(
      ({ resolved, integrity }) =>
        // The lockfile leaves out what comes from the registry that npm is set up for.
        !(resolved ?? REGISTRY).startsWith(REGISTRY) || !integrity?.startsWith('sha512-'),
    );
    expect(others.map(({ name }) => name)).toEqual([]);
  });

  it('9.1: runs no script when it is installed but those that are named, with their reason', () => {
    const running = new Set(packages.filter(({ runsAtInstall }) => runsAtInstall).map(({ name }) => name));
    expect(rowsUnder('Install scripts').toSorted()).toEqual([...running].toSorted());
  });

  it('has no licence but those that are named', () => {
    const licences = new Set(packages.map(({ licence }) => licence));
    expect([...licences].filter((licence) => !rowsUnder('Licences').includes(licence))).toEqual([]);
  });

  it('is pinned to one version, for everything that package.json asks for', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8'));
    const ranges = Object.entries<string>({ ...dependencies, ...devDependencies });
    expect(ranges.filter(([, range]) => !/^\d+\.\d+\.\d+$/.test(range))).toEqual([]);
  });
});
