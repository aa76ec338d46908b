import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import { failure } from '../core/failure.ts';
import { MAX_REPORTED_REMARKS } from '../core/limits.ts';
import type { Blobs, Models, Observer, Random, ToolLeftOut } from '../engine/ports.ts';
import { createLibraryProvider, type LibraryProvider } from './library-provider.ts';
import type { ModelProvider } from './model-provider.ts';
import type { ProviderSettings } from './provider-settings.ts';

export interface ModelsOptions {
  /** The providers of the configuration, by name. */
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  /** Providers that need no library, by name. A name of the configuration comes first. */
  readonly builtIn?: Readonly<Record<string, ModelProvider>>;
  readonly blobs: Pick<Blobs, 'read'>;
  readonly random: Pick<Random, 'token'>;
  readonly observer: Observer;
}

export interface ProviderModels extends Models {
  /** The tools that a request to a model goes without, and why (2.6). */
  toolsLeftOut(model: string, tools: readonly Tool[]): readonly ToolLeftOut[];
}

type Found =
  | { readonly provider: ModelProvider & Partial<LibraryProvider>; readonly modelId: string }
  | { readonly fault: string };

/** Finds the provider for each model, `provider/model`. Nothing of a provider is loaded before its first call. */
export function createModels(options: ModelsOptions): ProviderModels {
  const { blobs, random, observer } = options;
  const reported = new Set<string>();
  const onLeftOut = (model: string, { name, reason }: ToolLeftOut): void => {
    const remark = `${model} ${name} ${reason}`;
    if (reported.has(remark) || reported.size >= MAX_REPORTED_REMARKS) return;
    reported.add(remark);
    observer.report('warn', 'model_tool_left_out', { model, tool: name, reason });
  };
  const providers = new Map<string, ModelProvider & Partial<LibraryProvider>>([
    ...Object.entries(options.builtIn ?? {}),
    ...Object.entries(options.providers).map(([name, settings]): [string, LibraryProvider] => [
      name,
      createLibraryProvider({ name, settings, blobs, random, onLeftOut }),
    ]),
  ]);

  function find(model: string): Found {
    const slash = model.indexOf('/');
    const known = [...providers.keys()].sort().join(', ');
    if (slash <= 0 || slash === model.length - 1) {
      return {
        fault: `the model ${JSON.stringify(model)} has to be provider/model; there are the providers ${known}`,
      };
    }
    const name = model.slice(0, slash);
    const provider = providers.get(name);
    if (provider === undefined) {
      return {
        fault: `there is no provider ${JSON.stringify(name)}: add [providers.${name}] to the configuration, or use one of ${known}`,
      };
    }
    const modelId = model.slice(slash + 1);
    const fault = provider.fault?.(modelId);
    return fault === undefined ? { provider, modelId } : { fault };
  }

  return {
    fault(model) {
      const found = find(model);
      return 'fault' in found ? found.fault : undefined;
    },
    async call(call) {
      const found = find(call.request.model);
      if ('fault' in found) return { kind: 'failure', failure: failure('provider_error', found.fault) };
      return found.provider.call(call);
    },
    toolsLeftOut(model, tools) {
      const found = find(model);
      return 'fault' in found ? [] : (found.provider.leftOut?.(tools) ?? []);
    },
  };
}
