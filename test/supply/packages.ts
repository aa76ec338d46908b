import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';

const ROOT = resolve(import.meta.dirname, '../..');

const LockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      license: z.string().optional(),
      hasInstallScript: z.boolean().optional(),
      dev: z.boolean().optional(),
    }),
  ),
});

/** A package that the lockfile holds. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly resolved: string | undefined;
  readonly integrity: string | undefined;
  readonly runsAtInstall: boolean;
  readonly development: boolean;
}

/** Every package of the lockfile, by name. */
export function lockedPackages(): readonly LockedPackage[] {
  const { packages } = LockSchema.parse(JSON.parse(readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8')));
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: entry.version ?? '',
      licence: entry.license ?? '',
      resolved: entry.resolved,
      integrity: entry.integrity,
      runsAtInstall: entry.hasInstallScript === true,
      development: entry.dev === true,
    }))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}
