import type { Models } from '../engine/ports.ts';
import type { ModelProvider } from './model-provider.ts';

export type BuiltIn =
  | { readonly ok: true; readonly providers: Readonly<Record<string, ModelProvider>> }
  /** One line for each thing that is wrong with a script. */
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * The providers that need no network: `local`, and one for each script, whose paths are given by name. Scripts are read at once, so that an engine
 * does not start with one that is broken; the local model is loaded with its first call.
 */
export async function openBuiltIn(scripts: Readonly<Record<string, string>>): Promise<BuiltIn> {
  const providers: Record<string, ModelProvider> = { local: lazyLocalModel() };
  const problems: string[] = [];
  for (const [name, path] of Object.entries(scripts)) {
    const { openScript } = await import('./scripted.ts');
    const opened = await openScript(path);
    if (opened.ok) providers[name] = opened.model;
    else problems.push(...opened.problems);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, providers };
}

function lazyLocalModel(): ModelProvider {
  let loading: Promise<Models['call']> | undefined;
  return {
    async call(call) {
      loading ??= import('./local.ts').then(({ createLocalModel }) => createLocalModel());
      const answer = await loading;
      return answer(call);
    },
  };
}
