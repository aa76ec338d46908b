/**
 * A small model that needs no network and no key, for demonstrations, tests and offline work. It knows no tool: it
 * compares what a person says with the names, descriptions and schemas of the tools at hand, fills arguments with what
 * was said or answered before, and says what the tools answered. The same request always gives the same response.
 */
import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { DeltaSchema, type Part, PartSchema, Role } from '../../gen/spindle/v1/message_pb.ts';
import { FinishReason, type ModelRequest, ModelResponseSchema } from '../../gen/spindle/v1/trigger_pb.ts';
import { failure } from '../core/failure.ts';
import { MAX_LOCAL_TOOLS } from '../core/limits.ts';
import { CALL_TOOL, RESERVED_NAMES, SUBMIT_RESULT, TOOL_SEARCH } from '../core/loop/reserved.ts';
import type { ModelCall, Models } from '../engine/ports.ts';
import { readConversation } from './local/conversation.ts';
import { foundTools, searchArguments, wrapped } from './local/deferred.ts';
import { createKnownTools, type KnownTools } from './local/known-tool.ts';
import { planNext } from './local/plan.ts';
import { say, sayTools } from './local/say.ts';
import { submission } from './local/submit.ts';
import { estimateTokens, requestTokens } from './token-estimate.ts';

/** What the model does next: calls, or words. */
interface Move {
  readonly calls: readonly { readonly name: string; readonly json: string }[];
  readonly text: string;
}

/** The local model. Every call that it makes carries arguments that the tool's schema accepts, or it makes none. */
export function createLocalModel(): Models['call'] {
  const tools = createKnownTools();
  return async (call) => {
    const move = nextMove(call.request, tools);
    const parts = partsOf(move, call.callId);
    if (!(await stream(parts, call))) {
      return { kind: 'failure', failure: failure('cancelled', 'The model call was aborted.') };
    }
    const written = [move.text, ...move.calls.map(({ name, json }) => name + json)].join(' ');
    const response = create(ModelResponseSchema, {
      message: { role: Role.ASSISTANT, parts },
      finishReason: move.calls.length > 0 ? FinishReason.TOOL_CALLS : FinishReason.STOP,
      usage: { inputTokens: requestTokens(call.request), outputTokens: estimateTokens(written) },
      responseModel: call.request.model.slice(call.request.model.indexOf('/') + 1),
    });
    return { kind: 'response', response };
  };
}

function nextMove(request: ModelRequest, known: KnownTools): Move {
  const conversation = readConversation(request);
  const offered = request.tools.slice(0, MAX_LOCAL_TOOLS).flatMap((tool) => known.know(tool) ?? []);
  const named = (name: string) => offered.find((tool) => tool.name === name);
  const visible = offered.filter(({ name }) => !RESERVED_NAMES.has(name));
  const caller = named(CALL_TOOL);
  const visibleNames = new Set(visible.map(({ name }) => name));
  const found =
    caller === undefined ? [] : foundTools([...conversation.earlierCalls, ...conversation.calls], known);
  const hidden = found.filter(({ name }) => !visibleNames.has(name));
  const tools = [...visible, ...hidden];

  const plan = planNext(conversation, tools);
  const calls = plan.calls.flatMap(({ tool, json, value }) => {
    if (visibleNames.has(tool.name)) return [{ name: tool.name, json }];
    const wrapping = caller === undefined ? undefined : wrapped(caller, tool.name, value);
    return wrapping === undefined ? [] : [{ name: CALL_TOOL, json: wrapping }];
  });
  const search = named(TOOL_SEARCH);
  if (search !== undefined) {
    for (const clause of plan.unserved) {
      const json = searchArguments(search, clause);
      const isMade = conversation.calls.some(
        ({ name, args }) => name === TOOL_SEARCH && JSON.stringify(args) === json,
      );
      const isPlanned = calls.some((call) => call.name === TOOL_SEARCH && call.json === json);
      if (json !== undefined && !isMade && !isPlanned) calls.push({ name: TOOL_SEARCH, json });
    }
  }
  if (calls.length > 0) return { calls, text: '' };

  const submit = named(SUBMIT_RESULT);
  const text = answerOf(plan.findings, tools, conversation);
  const isSubmitted = conversation.calls.some(
    ({ name, outcome }) => name === SUBMIT_RESULT && outcome?.kind === 'result',
  );
  const value = submit === undefined || isSubmitted ? undefined : submission(submit, conversation, text);
  if (value !== undefined) return { calls: [{ name: SUBMIT_RESULT, json: value.json }], text: '' };
  const unable =
    submit === undefined || isSubmitted
      ? ''
      : '\nI cannot submit a result: what I found does not hold what it must have.';
  return { calls: [], text: text + unable };
}

/** Where the tools are gone, as in the last iteration of a turn, what they answered before is the answer. */
function answerOf(
  findings: Parameters<typeof say>[0],
  tools: Parameters<typeof say>[1],
  { calls }: ReturnType<typeof readConversation>,
): string {
  const told = findings.filter(({ kind }) => kind !== 'none');
  const answered = calls.filter(({ name }) => !RESERVED_NAMES.has(name));
  if (told.length > 0 || answered.length === 0)
    return findings.length === 0 ? sayTools(tools) : say(findings, tools);
  return answered
    .map((call) =>
      say([{ kind: 'called', tool: { name: call.name, deed: 'read', readOnly: true }, calls: [call] }], []),
    )
    .join('\n');
}

function partsOf({ calls, text }: Move, modelCallId: string): Part[] {
  const parts: Part[] = [];
  if (text !== '') {
    const value = { kind: { case: 'text' as const, value: { text } } };
    parts.push(create(PartSchema, { kind: { case: 'content', value } }));
  }
  for (const [index, { name, json }] of calls.entries()) {
    const value = { callId: callIdOf(modelCallId, index), name, arguments: json };
    parts.push(create(PartSchema, { kind: { case: 'toolCall', value } }));
  }
  return parts;
}

/** The same for the same model call, and no other's. */
function callIdOf(modelCallId: string, index: number): string {
  return `local-${createHash('sha256').update(`${modelCallId}\n${index}`).digest('base64url').slice(0, 22)}`;
}

/** Gives the parts out piece by piece, as a provider does. False where nobody wants the rest. */
async function stream(parts: readonly Part[], { callId, signal, onDelta }: ModelCall): Promise<boolean> {
  for (const { kind } of parts) {
    const text = kind.case === 'content' && kind.value.kind.case === 'text' ? kind.value.kind.value.text : '';
    for (const piece of text.match(/\S+\s*|\s+/g) ?? []) {
      if (signal.aborted) return false;
      onDelta(create(DeltaSchema, { callId, kind: { case: 'text', value: piece } }));
      await new Promise(setImmediate);
    }
    if (kind.case !== 'toolCall') continue;
    for (const piece of kind.value.arguments.match(/[\s\S]{1,64}/gu) ?? ['']) {
      if (signal.aborted) return false;
      const value = { callId: kind.value.callId, name: kind.value.name, arguments: piece };
      onDelta(create(DeltaSchema, { callId, kind: { case: 'toolCall', value } }));
      await new Promise(setImmediate);
    }
  }
  return !signal.aborted;
}
