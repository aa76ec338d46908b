import { create } from '@bufbuild/protobuf';
import {
  type ChatMessage,
  ChatMessageSchema,
  type Part,
  PartSchema,
  Role,
  type ToolCallPart,
} from '../../gen/spindle/v1/message_pb.ts';
import { shortened } from './excerpt.ts';
import { fitResult } from './fit-result.ts';
import { MAX_ARGUMENTS_BYTES, MAX_HISTORY_REPAIRS, MAX_VIOLATION_NAME_CHARS } from './limits.ts';
import { type CallOutcome, type PairedCall, pairCalls } from './paired-calls.ts';

/** What stands where a provider wants content and there is none. */
export const EMPTY_CONTENT = '(empty)';

export interface RepairedHistory {
  /** The messages of the request. What needed no change is the very object that came in. */
  readonly messages: readonly ChatMessage[];
  /** One sentence for each change, in the order of the conversation; at most MAX_HISTORY_REPAIRS. */
  readonly repairs: readonly string[];
}

/**
 * Makes a conversation into one that every provider takes, whatever was cancelled, lost, denied or written by hand
 * (6.5): each call of an assistant's message is followed directly by exactly one result, in the order of the calls;
 * ids differ; arguments are the text of a JSON object (1.10); nothing is empty, and no result is longer than a model
 * can use. It changes the request alone: the record stays as it is. Repairing what was repaired changes nothing.
 *
 * @param outcomes How calls ended that the conversation holds no result of, by the id of the call.
 */
export function repairHistory(
  messages: readonly ChatMessage[],
  outcomes: ReadonlyMap<string, CallOutcome> = new Map(),
): RepairedHistory {
  const report = createReport();
  const pairs = pairCalls(messages, outcomes, report.add);
  const repaired = messages.flatMap((message, index) => {
    switch (message.role) {
      case Role.TOOL:
        // Its results stand behind the calls that they belong to.
        reportStrays(message, index, report);
        return [];
      case Role.ASSISTANT: {
        const calls = pairs.get(index) ?? [];
        return [assistantMessage(message, index, calls, report), ...resultMessages(messages, calls, report)];
      }
      case Role.SYSTEM:
      case Role.USER:
        return spokenMessage(message, index, report);
      default:
        report.add(`message ${index + 1} has no role, and was left out`);
        return [];
    }
  });
  return { messages: repaired, repairs: report.sentences() };
}

interface Report {
  readonly add: (sentence: string) => void;
  sentences(): readonly string[];
}

function createReport(): Report {
  const kept: string[] = [];
  let more = 0;
  return {
    add(sentence) {
      if (kept.length < MAX_HISTORY_REPAIRS - 1) kept.push(sentence);
      else more += 1;
    },
    sentences: () => (more === 0 ? kept : [...kept, `${more} more of the kind`]),
  };
}

function reportStrays({ parts }: ChatMessage, index: number, report: Report): void {
  const strays = parts.filter(({ kind }) => kind.case !== 'toolResult').length;
  if (parts.length === 0)
    report.add(`message ${index + 1} is a tool's and holds no result, and was left out`);
  if (strays > 0) report.add(`message ${index + 1} is a tool's and holds ${strays} parts that are no result`);
}

function assistantMessage(
  message: ChatMessage,
  index: number,
  calls: readonly PairedCall[],
  report: Report,
): ChatMessage {
  let nextCall = 0;
  let blanks = 0;
  const parts = message.parts.flatMap((part) => {
    if (part.kind.case === 'toolCall') {
      const call = calls[nextCall++];
      return call === undefined ? [] : callPart(part, part.kind.value, call, report);
    }
    const misplaced = part.kind.case === 'toolResult' || part.kind.case === undefined;
    if (misplaced) reportMisplaced(part, index, report);
    const blank = isBlank(part);
    if (blank) blanks += 1;
    return misplaced || blank ? [] : part;
  });
  // Reasoning alone is no answer: a provider refuses a message that ends with it.
  if (parts.every(({ kind }) => kind.case === 'reasoning')) {
    parts.push(textPart(EMPTY_CONTENT));
    report.add(`message ${index + 1} says nothing, and got a placeholder`);
  } else if (blanks > 0) {
    reportBlank(index, report);
  }
  return withParts(message, parts);
}

function callPart(part: Part, call: ToolCallPart, { callId }: PairedCall, report: Report): Part {
  const sound = isJsonObject(call.arguments);
  if (!sound) {
    report.add(`the arguments of call ${named(callId)} are no JSON object, and were sent as {}`);
  }
  if (sound && callId === call.callId) return part;
  const value = { ...call, callId, arguments: sound ? call.arguments : '{}' };
  return create(PartSchema, { ...part, kind: { case: 'toolCall', value } });
}

/**
 * The results behind a message, in the order of its calls. Results that were recorded in one message stay in one, so
 * that a sound history keeps its messages.
 */
function resultMessages(
  messages: readonly ChatMessage[],
  calls: readonly PairedCall[],
  report: Report,
): readonly ChatMessage[] {
  const groups: { readonly source: ChatMessage | undefined; readonly parts: Part[] }[] = [];
  for (const { callId, result, source } of calls) {
    const fitted = fitResult(result, callId);
    if (fitted.repair !== undefined) report.add(fitted.repair);
    const message = source === undefined ? undefined : messages[source];
    const last = groups.at(-1);
    if (last !== undefined && last.source === message) last.parts.push(fitted.part);
    else groups.push({ source: message, parts: [fitted.part] });
  }
  return groups.map(({ source, parts }) =>
    source?.role === Role.TOOL
      ? withParts(source, parts)
      : create(ChatMessageSchema, { role: Role.TOOL, parts }),
  );
}

function spokenMessage(message: ChatMessage, index: number, report: Report): readonly ChatMessage[] {
  const content = message.parts.filter((part) => {
    if (part.kind.case !== 'content') reportMisplaced(part, index, report);
    return part.kind.case === 'content';
  });
  const parts = content.filter((part) => !isBlank(part));
  if (parts.length > 0) {
    if (parts.length < content.length) reportBlank(index, report);
    return [withParts(message, parts)];
  }
  // Instructions that say nothing need not be sent; a turn of the conversation keeps its place.
  if (message.role === Role.SYSTEM) {
    report.add(`message ${index + 1} holds empty instructions, and was left out`);
    return [];
  }
  report.add(`message ${index + 1} says nothing, and got a placeholder`);
  return [withParts(message, [textPart(EMPTY_CONTENT)])];
}

function reportMisplaced({ kind }: Part, index: number, report: Report): void {
  // A result that stands elsewhere was moved, and whoever moved it says so.
  if (kind.case === 'toolResult') return;
  report.add(`message ${index + 1} holds a part that does not belong there, which was left out`);
}

function reportBlank(index: number, report: Report): void {
  report.add(`message ${index + 1} holds blank text, which was left out`);
}

/** Text without a visible character, which providers refuse. A provider's own data on it has to go back, though. */
function isBlank({ kind, providerMetadataJson }: Part): boolean {
  if (kind.case !== 'content' || providerMetadataJson !== '') return false;
  const { kind: content } = kind.value;
  return content.case === undefined || (content.case === 'text' && content.value.text.trim() === '');
}

function textPart(text: string): Part {
  return create(PartSchema, {
    kind: { case: 'content', value: { kind: { case: 'text', value: { text } } } },
  });
}

function withParts(message: ChatMessage, parts: readonly Part[]): ChatMessage {
  const same = parts.length === message.parts.length && parts.every((part, at) => part === message.parts[at]);
  return same ? message : create(ChatMessageSchema, { ...message, parts: [...parts] });
}

/** Half of a surrogate pair, written as an escape: valid JSON that is no valid text, which providers refuse. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

function isJsonObject(text: string): boolean {
  if (text.length > MAX_ARGUMENTS_BYTES) return false;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return !LONE_SURROGATE.test(JSON.stringify(value));
  } catch {
    return false;
  }
}

function named(callId: string): string {
  return shortened(callId, MAX_VIOLATION_NAME_CHARS);
}
