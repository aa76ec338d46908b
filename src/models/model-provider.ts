import type { ModelAnswer, ModelCall } from '../engine/ports.ts';

/** Who makes model calls under one name. */
export interface ModelProvider {
  /** Rejects for bugs alone. */
  call(call: ModelCall): Promise<ModelAnswer>;
  /** Why it cannot be called at all, in a sentence that says what to do; undefined, or absent, where it can. */
  readonly fault?: (modelId: string) => string | undefined;
}
