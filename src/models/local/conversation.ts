import { type ChatMessage, Role } from '../../../gen/spindle/v1/message_pb.ts';
import type { ToolResult } from '../../../gen/spindle/v1/result_pb.ts';
import type { ModelRequest } from '../../../gen/spindle/v1/trigger_pb.ts';
import { CALL_TOOL, SUBMIT_RESULT } from '../../core/loop/reserved.ts';
import { isJsonObject } from '../../schema/json-value.ts';
import { todayIn } from './dates.ts';

/** How a call ended, as the model reads it. */
export type CallOutcome =
  | {
      readonly kind: 'result';
      readonly text: string;
      /** The structured value, else the text as JSON where it is JSON, else the text. */
      readonly value: unknown;
    }
  | {
      readonly kind: 'error';
      readonly code: string;
      readonly message: string;
      readonly mayHaveTakenEffect: boolean;
    };

/** A call that the model made: under the tool's own name, also where it was made through `call_tool`. */
export interface MadeCall {
  readonly name: string;
  /** The value of its arguments; undefined where they are no JSON. */
  readonly args: unknown;
  readonly outcome: CallOutcome | undefined;
}

export interface Conversation {
  /** What the person wants now. */
  readonly goal: string;
  /** What they wanted before, newest first. */
  readonly earlierGoals: readonly string[];
  /** Calls since the goal was said, in order. */
  readonly calls: readonly MadeCall[];
  /** Calls of earlier turns. */
  readonly earlierCalls: readonly MadeCall[];
  /** How often the model has spoken since the goal was said. */
  readonly iterations: number;
  readonly today: string | undefined;
}

/** Reads a request: a turn is everything after the person's last words, reminders of the engine left aside. */
export function readConversation({ messages }: ModelRequest): Conversation {
  const goals: string[] = [];
  const instructions: string[] = [];
  let calls: { name: string; args: unknown; outcome: CallOutcome | undefined; id: string }[] = [];
  let earlierCalls: typeof calls = [];
  let iterations = 0;
  let spoken = false;
  for (const message of messages) {
    const said = textOf(message);
    if (message.role === Role.SYSTEM) instructions.push(said);
    if (message.role === Role.USER && !isReminder(said, goals)) {
      // Two messages in a row are one wish.
      if (goals.length > 0 && !spoken) goals.push(`${goals.pop() ?? ''}\n${said}`);
      else goals.push(said);
      earlierCalls = [...earlierCalls, ...calls];
      calls = [];
      iterations = 0;
      spoken = false;
    }
    if (message.role === Role.ASSISTANT) {
      spoken = true;
      iterations += 1;
      for (const { kind } of message.parts) {
        if (kind.case !== 'toolCall') continue;
        calls.push({
          id: kind.value.callId,
          ...named(kind.value.name, kind.value.arguments),
          outcome: undefined,
        });
      }
    }
    for (const { kind } of message.parts) {
      if (kind.case !== 'toolResult') continue;
      const { callId, outcome } = kind.value;
      const call = calls.findLast(({ id, outcome: known }) => id === callId && known === undefined);
      if (call === undefined) continue;
      if (outcome.case === 'result') call.outcome = readResult(outcome.value);
      if (outcome.case === 'error') {
        const { code, message: words, mayHaveTakenEffect } = outcome.value;
        call.outcome = { kind: 'error', code, message: words, mayHaveTakenEffect };
      }
    }
  }
  return {
    goal: goals.at(-1) ?? '',
    earlierGoals: goals.slice(0, -1).toReversed(),
    calls,
    earlierCalls,
    iterations,
    today: todayIn(instructions.join('\n')),
  };
}

/** The engine's own words about the task, which a person never says. */
function isReminder(text: string, goals: readonly string[]): boolean {
  return goals.length > 0 && text.includes(SUBMIT_RESULT);
}

function textOf({ parts }: ChatMessage): string {
  return parts
    .flatMap(({ kind }) =>
      kind.case === 'content' && kind.value.kind.case === 'text' ? [kind.value.kind.value.text] : [],
    )
    .join('\n');
}

function named(name: string, text: string): { readonly name: string; readonly args: unknown } {
  const args = parsed(text.trim() === '' ? '{}' : text);
  if (name !== CALL_TOOL || !isJsonObject(args)) return { name, args };
  const values = Object.values(args);
  const inner = values.find((value) => typeof value === 'string');
  return { name: typeof inner === 'string' ? inner : name, args: values.find(isJsonObject) ?? {} };
}

function readResult(result: ToolResult): CallOutcome {
  const text = result.content
    .map(({ kind }) => {
      if (kind.case === 'text') return kind.value.text;
      if (kind.case === 'resource')
        return kind.value.body.case === 'text' ? kind.value.body.value : kind.value.uri;
      if (kind.case === 'resourceLink') return kind.value.uri;
      return kind.case === undefined ? '' : `(${kind.case}: ${kind.value.mimeType})`;
    })
    .filter((block) => block !== '')
    .join('\n');
  if (result.isError) return { kind: 'error', code: 'tool_error', message: text, mayHaveTakenEffect: false };
  const json = result.structuredJson ?? (/^\s*[[{]/.test(text) ? text : undefined);
  const value = json === undefined ? undefined : parsed(json);
  return { kind: 'result', text, value: value ?? text };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Text that is no JSON is text.
    return undefined;
  }
}
