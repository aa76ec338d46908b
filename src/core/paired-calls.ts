import { create } from '@bufbuild/protobuf';
import {
  type ChatMessage,
  type Part,
  PartSchema,
  Role,
  type ToolCallPart,
  type ToolResultPart,
  ToolResultPartSchema,
} from '../../gen/spindle/v1/message_pb.ts';
import { shortened } from './excerpt.ts';
import { failure } from './failure.ts';
import { MAX_ID_CHARS, MAX_VIOLATION_NAME_CHARS } from './limits.ts';

/** How a call ended, as a result's part holds it. */
export type CallOutcome = ToolResultPart['outcome'];

/** A call of an assistant's message, and the result that follows it. */
export interface PairedCall {
  /** Its own id, unless it is empty or an earlier call has it. */
  readonly callId: string;
  /** Its result, under that id. */
  readonly result: Part;
  /** The index of the message that holds the result; undefined where none does. */
  readonly source: number | undefined;
}

interface FoundCall {
  readonly message: number;
  readonly call: ToolCallPart;
}

interface FoundResult {
  readonly message: number;
  readonly part: Part;
  readonly result: ToolResultPart;
}

/**
 * The calls of each assistant's message, by the index of the message, each with one result (6.5). Of several results
 * under one id a call gets the first that follows it; what then is left belongs to no call.
 */
export function pairCalls(
  messages: readonly ChatMessage[],
  outcomes: ReadonlyMap<string, CallOutcome>,
  report: (sentence: string) => void,
): ReadonlyMap<number, readonly PairedCall[]> {
  const calls = callsIn(messages);
  const results = Map.groupBy(resultsIn(messages), ({ result }) => result.callId);
  const taken = new Map<FoundCall, FoundResult>();
  for (const [callId, same] of Map.groupBy(calls, ({ call }) => call.callId)) {
    const left = assign(same, results.get(callId) ?? [], taken);
    if (left > 0) report(`call ${named(callId)} had ${left} results too many, which were left out`);
  }
  const known = new Set(calls.map(({ call }) => call.callId));
  for (const [callId, orphans] of results) {
    if (!known.has(callId)) {
      report(`${orphans.length} results belong to no call with the id ${named(callId)}, and were left out`);
    }
  }
  const ids = distinctIds(calls, report);
  const pairs = Map.groupBy(
    calls.map((found) => ({ found, pair: pairOf(found, ids.get(found) ?? '') })),
    ({ found }) => found.message,
  );
  const byMessage = new Map([...pairs].map(([index, group]) => [index, group.map(({ pair }) => pair)]));
  for (const [index, pairsOfMessage] of byMessage) reportOrder(messages, index, pairsOfMessage, report);
  return byMessage;

  function pairOf(found: FoundCall, callId: string): PairedCall {
    const result = taken.get(found);
    if (result !== undefined) {
      if (result.result.outcome.case !== undefined) {
        return { callId, result: withId(result.part, result.result, callId), source: result.message };
      }
    }
    const outcome = outcomes.get(found.call.callId);
    const ended = outcome?.case !== undefined;
    report(
      `call ${named(callId)} had no result, and got ${ended ? 'the one on record' : 'one that says so'}`,
    );
    return {
      callId,
      result: madeResult(callId, found.call.name, ended ? outcome : NO_RESULT),
      source: undefined,
    };
  }
}

const NO_RESULT: CallOutcome = {
  case: 'error',
  value: failure(
    'outcome_unknown',
    'This call has no result on record: it may have run, or not. Check before you rely on either.',
    { mayHaveTakenEffect: true },
  ),
};

function callsIn(messages: readonly ChatMessage[]): readonly FoundCall[] {
  return messages.flatMap(({ role, parts }, message) =>
    role !== Role.ASSISTANT
      ? []
      : parts.flatMap(({ kind }) => (kind.case === 'toolCall' ? { message, call: kind.value } : [])),
  );
}

function resultsIn(messages: readonly ChatMessage[]): readonly FoundResult[] {
  return messages.flatMap(({ parts }, message) =>
    parts.flatMap((part) =>
      part.kind.case === 'toolResult' ? { message, part, result: part.kind.value } : [],
    ),
  );
}

/**
 * Gives the results of one id to the calls of that id: first to those of the newest message before them, in order,
 * then to whoever still has none. Says how many are left.
 */
function assign(
  calls: readonly FoundCall[],
  results: readonly FoundResult[],
  taken: Map<FoundCall, FoundResult>,
): number {
  const left: FoundResult[] = [];
  for (const result of results) {
    const message = calls.findLast((found) => found.message <= result.message)?.message;
    const call = calls.find((found) => found.message === message && !taken.has(found));
    if (call === undefined) left.push(result);
    else taken.set(call, result);
  }
  const waiting = calls.filter((call) => !taken.has(call));
  const moved = left.splice(0, waiting.length);
  for (const [at, result] of moved.entries()) {
    const call = waiting[at];
    if (call !== undefined) taken.set(call, result);
  }
  return left.length;
}

/** Ids that are all different and none empty: the first call of an id keeps it. */
function distinctIds(
  calls: readonly FoundCall[],
  report: (sentence: string) => void,
): ReadonlyMap<FoundCall, string> {
  const used = new Set(calls.map(({ call }) => call.callId).filter((callId) => callId !== ''));
  const seen = new Set<string>();
  const ids = new Map<FoundCall, string>();
  for (const found of calls) {
    const { callId } = found.call;
    if (callId !== '' && !seen.has(callId)) {
      seen.add(callId);
      ids.set(found, callId);
      continue;
    }
    const base = callId === '' ? 'call' : shortened(callId, MAX_ID_CHARS);
    let number = 2;
    while (used.has(`${base}-${number}`)) number += 1;
    const other = `${base}-${number}`;
    used.add(other);
    ids.set(found, other);
    report(
      callId === ''
        ? `a call without an id got the id ${other}`
        : `the id ${named(callId)} was used again, and the later call got the id ${named(other)}`,
    );
  }
  return ids;
}

function reportOrder(
  messages: readonly ChatMessage[],
  index: number,
  pairs: readonly PairedCall[],
  report: (sentence: string) => void,
): void {
  let last = index;
  while (messages[last + 1]?.role === Role.TOOL) last += 1;
  const sources = pairs.flatMap(({ source }) => source ?? []);
  const moved = sources.filter((source) => source <= index || source > last).length;
  if (moved > 0)
    report(`${moved} results stood apart from the calls in message ${index + 1}, and were moved`);
  const recorded = messages
    .slice(index + 1, last + 1)
    .flatMap(({ parts }) => parts)
    .flatMap(({ kind }) => (kind.case === 'toolResult' ? kind.value.outcome : []));
  const places = pairs
    .flatMap(({ result: { kind } }) =>
      kind.case === 'toolResult' ? recorded.indexOf(kind.value.outcome) : -1,
    )
    .filter((place) => place >= 0);
  if (places.some((place, at) => place < (places[at - 1] ?? 0))) {
    report(`the results of the calls in message ${index + 1} were put in the order of the calls`);
  }
}

function withId(part: Part, result: ToolResultPart, callId: string): Part {
  if (result.callId === callId) return part;
  const value = create(ToolResultPartSchema, { ...result, callId });
  return create(PartSchema, { ...part, kind: { case: 'toolResult', value } });
}

function madeResult(callId: string, name: string, outcome: CallOutcome): Part {
  const value = create(ToolResultPartSchema, { callId, name, outcome });
  return create(PartSchema, { kind: { case: 'toolResult', value } });
}

function named(callId: string): string {
  return callId === '' ? '""' : shortened(callId, MAX_VIOLATION_NAME_CHARS);
}
