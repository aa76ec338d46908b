import { create } from '@bufbuild/protobuf';
import type { Failure } from '../../../gen/spindle/v1/result_pb.ts';
import {
  type ModelRequest,
  ModelRequestSchema,
  type ModelResponse,
} from '../../../gen/spindle/v1/trigger_pb.ts';
import { activityName } from '../../core/activity.ts';
import { failure } from '../../core/failure.ts';
import type { ModelCallInFlight } from '../../core/loop/conversation.ts';
import { requestHistory } from '../../core/loop/request.ts';
import type { AnswerRuling } from '../../core/ruling.ts';
import { readFailure } from '../answers.ts';
import type { Shared } from '../engine.ts';
import type { ModelAnswer } from '../ports.ts';
import type { SessionRunner } from '../session-runner.ts';
import { traceContextFor } from '../trace-context.ts';
import type { Iterations } from './iterations.ts';
import { storeMessage } from './message-bytes.ts';

/** The attempts of model calls that this process makes. */
export interface ModelCalls {
  start(runner: SessionRunner, call: ModelCallInFlight, name: string): void;
  /** What a model call sends. Rejects with a JournalFault. */
  request(runner: SessionRunner, call: ModelCallInFlight): Promise<ModelRequest>;
  /** Records what came back: from a provider, or from the worker that makes the call. */
  answered(
    runner: SessionRunner,
    callId: string,
    attempt: number,
    answer: ModelAnswer,
    done: (ruling: AnswerRuling | undefined) => void,
  ): void;
  /** Ends an attempt that could not be begun, or broke. */
  failed(runner: SessionRunner, callId: string, attempt: number): (error: unknown) => void;
  withdraw(runner: SessionRunner, name: string): void;
  drop(runner: SessionRunner): void;
}

export function createModelCalls(shared: Shared, iterations: Iterations): ModelCalls {
  const { options, refuse } = shared;
  const { clock, random, models, observer, blobs } = options;
  const running = new Map<SessionRunner, Map<string, AbortController>>();

  const forget = (runner: SessionRunner, name: string): void => {
    const calls = running.get(runner);
    calls?.delete(name);
    if (calls?.size === 0) running.delete(runner);
  };

  const modelCalls: ModelCalls = {
    async request(runner, call) {
      const { conversation } = runner.session;
      const tools = await iterations.offered(runner.key.tenant, call.toolSetDigest);
      return create(ModelRequestSchema, {
        model: call.model,
        messages: [...requestHistory(runner.session).messages],
        tools: tools.map(({ tool }) => tool),
        settingsJson: conversation?.agent?.modelSettingsJson ?? '',
      });
    },

    start(runner, call, name) {
      const { callId, attempt, model } = call;
      const controller = new AbortController();
      const { signal } = controller;
      running.set(runner, (running.get(runner) ?? new Map<string, AbortController>()).set(name, controller));
      const make = async (): Promise<void> => {
        const request = await modelCalls.request(runner, call);
        if (signal.aborted) return;
        const fault = models === undefined ? 'this engine has no model providers' : models.fault(model);
        const answer: ModelAnswer =
          models === undefined || fault !== undefined
            ? { kind: 'failure', failure: failure('refused', fault ?? '') }
            : await models.call({
                tenant: runner.key.tenant,
                callId,
                attempt,
                request,
                traceContext: traceContextFor(
                  { recorder: options.recorder, key: runner.key, session: runner.session },
                  activityName.modelCall(callId),
                ),
                signal,
                onDelta: (delta) => {
                  if (!signal.aborted) runner.tellDelta({ ...delta, callId });
                },
              });
        if (signal.aborted) return;
        forget(runner, name);
        modelCalls.answered(runner, callId, attempt, answer, () => undefined);
      };
      make().catch((error: unknown) => {
        forget(runner, name);
        if (!signal.aborted) modelCalls.failed(runner, callId, attempt)(error);
      });
    },

    answered(runner, callId, attempt, answer, done) {
      const record = (read: ModelAnswer): void =>
        runner.send(
          { kind: 'answer_model', at: clock.now(), callId, attempt, answer: read, draw: random.draw() },
          (outcome) => done(outcome.ok ? outcome.value.answer : undefined),
        );
      if (answer.kind === 'failure') {
        record({ kind: 'failure', failure: modelFailure(answer.failure) });
        return;
      }
      storeResponse(answer.response).then(
        (response) => record({ kind: 'response', response }),
        (error: unknown) => {
          modelCalls.failed(runner, callId, attempt)(error);
          done(undefined);
        },
      );

      /** Bytes never enter the log (3.3). */
      async function storeResponse(response: ModelResponse): Promise<ModelResponse> {
        if (response.message === undefined) return response;
        return { ...response, message: await storeMessage(response.message, runner.key.tenant, blobs) };
      }
    },

    failed: (runner, callId, attempt) => (error) => {
      const refusal = refuse(error);
      if (refusal === undefined) observer.report('error', 'model_call_failed', { error: String(error) });
      const message = refusal?.message ?? 'The model call broke off within the engine.';
      const answer = { kind: 'failure', failure: failure('internal', message, { retryable: true }) } as const;
      modelCalls.answered(runner, callId, attempt, answer, () => undefined);
    },

    withdraw(runner, name) {
      running.get(runner)?.get(name)?.abort();
      forget(runner, name);
    },
    drop(runner) {
      for (const controller of running.get(runner)?.values() ?? []) controller.abort();
      running.delete(runner);
    },
  };
  return modelCalls;
}

/** A failure of a provider's or a worker's, within bounds. */
function modelFailure(given: Failure): Failure {
  const read = readFailure(given);
  return given.code === '' ? { ...read, code: 'provider_error' } : read;
}
