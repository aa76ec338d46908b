import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config.ts';
import { mutateText } from '../mutate.ts';
import type { Target } from '../target.ts';

const FILES = [
  'listen = "127.0.0.1:7433"\nhttp = "off"\nretain = "7d"\n[retry.tool]\nrun_timeout = "1m"\nmax_attempts = 3\n',
  '[jwt]\nissuer = "https://i"\naudience = "a"\njwks = "https://i/k"\n[limits.tenant]\ncalls_per_second = 5\n',
  'tls_certificate = "c"\ntls_key = "k"\ntls_client_authority = "a"\n[[certificates]]\ncommon_name = "x"\nrole = "client"\ntenant = "t"\n',
  '[providers.local]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:1"\n[agents.a]\nmodel = "local/m"\n',
] as const;

/** Configuration files: each is used, or refused in lines that say where and what. */
export async function openConfiguration(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'spindle-fuzz-'));
  const file = join(folder, 'spindle.toml');
  return {
    make: (random) => mutateText(random, random.pick(FILES)),
    async examine(fuzzCase) {
      await writeFile(file, fuzzCase);
      const loaded = loadConfig({ file, environment: {} });
      if (loaded.ok) return undefined;
      if (loaded.problems.length === 0) return 'refused without a problem';
      return loaded.problems.find((problem) => problem.trim() === '') === undefined
        ? undefined
        : 'an empty problem';
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
