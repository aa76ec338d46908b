/**
 * A model that says what a list tells it to. It needs no network and no key: transcripts and tests are written
 * with it, and it brings about on demand what real providers do on bad days.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { parse as parseToml } from 'smol-toml';
import { type Delta, DeltaSchema, type Part, PartSchema, Role } from '../../gen/spindle/v1/message_pb.ts';
import { type Failure, FailureSchema } from '../../gen/spindle/v1/result_pb.ts';
import { FinishReason, type ModelRequest, ModelResponseSchema } from '../../gen/spindle/v1/trigger_pb.ts';
import { failure } from '../core/failure.ts';
import { MAX_SCRIPTED_ANSWERS } from '../core/limits.ts';
import { duration } from '../core/time.ts';
import type { ModelAnswer, ModelCall, Models } from '../engine/ports.ts';
import { unmet } from './scripted/expectations.ts';
import { type ReadScript, readScript, type Script, type ScriptedAnswer } from './scripted/script.ts';
import { estimateTokens, requestTokens } from './token-estimate.ts';

export type { Script } from './scripted/script.ts';

export interface ScriptedModel {
  readonly call: Models['call'];
  /** How many answers no call has had yet, where they are given in order. */
  readonly left: number;
}

export type ScriptFile =
  | { readonly ok: true; readonly model: ScriptedModel }
  /** One line for each thing that is wrong, with the file's path. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** A scripted model of a file: TOML where its name ends in .toml, else JSON. Never rejects. */
export async function openScript(path: string): Promise<ScriptFile> {
  let value: unknown;
  try {
    const text = await readFile(path, 'utf8');
    value = extname(path) === '.toml' ? parseToml(text) : JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    return { ok: false, problems: [`${path}: the script cannot be read: ${reason}`] };
  }
  const reading = readScript(value);
  if (!reading.ok) return { ok: false, problems: reading.problems.map((problem) => `${path}: ${problem}`) };
  return { ok: true, model: playScript(reading.script, path) };
}

/** A scripted model of a script that a program wrote. Throws where that breaks the form, naming each place. */
export function createScriptedModel(script: Script): ScriptedModel {
  const reading = readScript(script);
  if (!reading.ok) throw new TypeError(`the script is not well formed: ${reading.problems.join('; ')}`);
  return playScript(reading.script, 'the script');
}

function playScript({ answers, position, after }: ReadScript, source: string): ScriptedModel {
  let taken = 0;
  // A call whose place holds a list keeps it over its attempts; what was placed longest ago is forgotten first.
  const placed = new Map<string, number>();

  const listAt = (place: number): readonly ScriptedAnswer[] | undefined =>
    answers[after === 'again' ? place % answers.length : place] ??
    (after === 'repeat' ? answers.at(-1) : undefined);

  function placeOf({ tenant, callId, attempt, request }: ModelCall): number {
    if (position === 'conversation') {
      return request.messages.filter(({ role }) => role === Role.ASSISTANT).length;
    }
    const key = `${tenant}\n${callId}`;
    const earlier = placed.get(key);
    if (earlier !== undefined && attempt > 1) return earlier;
    const place = taken;
    taken += 1;
    if ((listAt(place)?.length ?? 0) < 2) return place;
    placed.set(key, place);
    const oldest = placed.keys().next();
    if (placed.size > MAX_SCRIPTED_ANSWERS && oldest.done === false) placed.delete(oldest.value);
    return place;
  }

  return {
    get left() {
      return Math.max(answers.length - taken, 0);
    },
    async call(call) {
      const place = placeOf(call);
      const list = listAt(place);
      if (list === undefined) {
        const asked = place - answers.length + 1;
        return failed(
          `${source} has ${answers.length} answers, and this is call ${asked} after the last one: ` +
            'add an answer, or say with "after" what comes then',
        );
      }
      const answer = list[Math.min(Math.max(call.attempt, 1), list.length) - 1] ?? {};
      const problems = answer.expect === undefined ? [] : unmet(answer.expect, call.request);
      if (problems.length > 0) {
        return failed(`call ${place + 1} of ${source} expected ${problems.join('; ')}`);
      }
      return play(answer, call);
    },
  };
}

async function play(answer: ScriptedAnswer, call: ModelCall): Promise<ModelAnswer> {
  const { signal } = call;
  if (answer.delay_ms !== undefined) await sleep(answer.delay_ms, undefined, { signal }).catch(ignoreAbort);
  const parts = partsOf(answer, call.callId);
  const deltas = deltasOf(answer, parts, call.callId);
  for (const delta of deltas.slice(0, answer.break_after ?? (endsEarly(answer) ? 0 : undefined))) {
    if (signal.aborted) return aborted();
    call.onDelta(delta);
    // Deltas come one at a time, as they do from a socket: whoever reads them has a turn between two.
    await new Promise(setImmediate);
  }
  if (answer.hang) await untilAborted(signal);
  if (signal.aborted) return aborted();
  if (answer.fail !== undefined) return { kind: 'failure', failure: failureOf(answer.fail) };
  return { kind: 'response', response: responseOf(answer, parts, call.request) };
}

function endsEarly({ fail, hang }: ScriptedAnswer): boolean {
  return fail !== undefined || hang !== undefined;
}

function responseOf(answer: ScriptedAnswer, parts: readonly Part[], request: ModelRequest) {
  const { usage = {}, calls = [], reasoning = '' } = answer;
  const written = [
    textOf(answer),
    reasoning,
    ...calls.map((call) => call.name + rawArguments(call.arguments)),
  ];
  return create(ModelResponseSchema, {
    message: { role: Role.ASSISTANT, parts: [...parts] },
    finishReason: FINISH[answer.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')],
    usage: {
      inputTokens: usage.input ?? requestTokens(request),
      outputTokens: usage.output ?? estimateTokens(written.join(' ')),
      cachedInputTokens: usage.cached_input ?? 0,
      reasoningTokens: usage.reasoning ?? estimateTokens(reasoning),
    },
    responseModel: answer.response_model ?? request.model.slice(request.model.indexOf('/') + 1),
    responseId: answer.response_id ?? '',
  });
}

const FINISH: Readonly<Record<NonNullable<ScriptedAnswer['finish']>, FinishReason>> = {
  stop: FinishReason.STOP,
  tool_calls: FinishReason.TOOL_CALLS,
  length: FinishReason.LENGTH,
  content_filter: FinishReason.CONTENT_FILTER,
  other: FinishReason.OTHER,
  unspecified: FinishReason.UNSPECIFIED,
};

function partsOf(answer: ScriptedAnswer, callId: string): Part[] {
  const text = textOf(answer);
  const parts: Part[] = [];
  if (answer.reasoning !== undefined) {
    parts.push(create(PartSchema, { kind: { case: 'reasoning', value: { text: answer.reasoning } } }));
  }
  if (text !== '') {
    const value = { kind: { case: 'text' as const, value: { text } } };
    parts.push(create(PartSchema, { kind: { case: 'content', value } }));
  }
  for (const [index, { id, name, arguments: written }] of (answer.calls ?? []).entries()) {
    const value = { callId: id ?? callIdOf(callId, index), name, arguments: rawArguments(written) };
    parts.push(create(PartSchema, { kind: { case: 'toolCall', value } }));
  }
  return parts;
}

/** An id that no other call of the session has, and that is the same whenever the script is played again. */
function callIdOf(modelCallId: string, index: number): string {
  const hash = createHash('sha256').update(`${modelCallId}\n${index}`).digest('base64url');
  return `scripted-${hash.slice(0, 22)}`;
}

function deltasOf(answer: ScriptedAnswer, parts: readonly Part[], callId: string): Delta[] {
  const pieces = answer.deltas ?? textOf(answer).match(/\S+\s*|\s+/g) ?? [];
  const deltas: Delta[] = [];
  for (const piece of answer.reasoning?.match(/\S+\s*|\s+/g) ?? []) {
    deltas.push(create(DeltaSchema, { callId, kind: { case: 'reasoning', value: piece } }));
  }
  for (const piece of pieces)
    deltas.push(create(DeltaSchema, { callId, kind: { case: 'text', value: piece } }));
  for (const { kind } of parts) {
    if (kind.case !== 'toolCall') continue;
    deltas.push(create(DeltaSchema, { callId, kind: { case: 'toolCall', value: kind.value } }));
  }
  return deltas;
}

function textOf({ text, deltas }: ScriptedAnswer): string {
  return text ?? deltas?.join('') ?? '';
}

function rawArguments(written: NonNullable<ScriptedAnswer['calls']>[number]['arguments']): string {
  return typeof written === 'string' ? written : JSON.stringify(written);
}

function failureOf({
  code = 'provider_error',
  message,
  retryable = false,
  retry_after_ms: wait,
}: NonNullable<ScriptedAnswer['fail']>): Failure {
  return create(FailureSchema, {
    code,
    message: message ?? `The scripted model fails with ${code}.`,
    retryable,
    ...(wait === undefined ? {} : { retryAfter: duration(wait) }),
  });
}

function failed(message: string): ModelAnswer {
  return { kind: 'failure', failure: failure('provider_error', `${message}.`) };
}

function aborted(): ModelAnswer {
  return { kind: 'failure', failure: failure('cancelled', 'The model call was aborted.') };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** The one thing that ends such a wait early; the caller looks at the signal. */
function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
}
