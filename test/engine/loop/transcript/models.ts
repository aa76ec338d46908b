/** The models of a transcript: each `scripted/NAME` has a list of answers, one for each call that it gets. */
import type { ModelAnswer, ModelCall, Models } from '../../../../src/engine/ports.ts';
import { createScriptedModel, type Script } from '../../../../src/models/scripted.ts';

export interface TranscriptModels extends Models {
  script(model: string, answers: Script['answers']): void;
}

/** @param onCall hears each attempt that a model is asked for */
export function createTranscriptModels(onCall: (call: ModelCall) => void): TranscriptModels {
  const scripts = new Map<string, Script['answers'][number][]>();
  /** The answer of each call: after a restart the same call is made again, and gets the same. */
  const places = new Map<string, Script['answers'][number] | undefined>();
  return {
    script: (model, answers) => void scripts.set(model, [...answers]),
    fault: (model) => (model.startsWith('scripted/') ? undefined : `there is no provider for ${model}`),
    async call(call): Promise<ModelAnswer> {
      onCall(call);
      const { model } = call.request;
      if (!places.has(call.callId)) places.set(call.callId, scripts.get(model)?.shift());
      const answer = places.get(call.callId);
      if (answer === undefined) throw new Error(`the script of ${model} has no answer left`);
      return createScriptedModel({ answers: [answer] }).call(call);
    },
  };
}
