/** Events, requests and messages as lines of a transcript: all that matters of them, and nothing that changes from run to run. */
import type { DescEnum } from '@bufbuild/protobuf';
import type { Action } from '../../../../gen/spindle/v1/action_pb.ts';
import type { SessionEvent } from '../../../../gen/spindle/v1/event_pb.ts';
import { type ChatMessage, type Part, Role, RoleSchema } from '../../../../gen/spindle/v1/message_pb.ts';
import type { Content, Failure, ToolResult } from '../../../../gen/spindle/v1/result_pb.ts';
import { ToolHandler, ToolHandlerSchema } from '../../../../gen/spindle/v1/tool_pb.ts';
import {
  FinishReason,
  FinishReasonSchema,
  type ModelRequest,
  type ModelResponse,
} from '../../../../gen/spindle/v1/trigger_pb.ts';
import { millisOf } from '../../../../src/core/time.ts';

/** Names in place of ids that differ from run to run. */
export interface Names {
  of(id: string): string;
}

/** Names ids in the order in which they appear. */
export function createNames(): Names & { set(id: string, name: string): void } {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  return {
    set: (id, name) => void names.set(id, name),
    of(id) {
      const known = names.get(id);
      if (known !== undefined) return known;
      const prefix = /^(?:model|sub|turn|scripted|token|interrupt|decision|message|results)\b/.exec(id)?.[0];
      if (prefix === undefined) return id;
      // A call of a decision without an id, or a call whose id was replaced: named after what it belongs to.
      const [, owner = '', rest = ''] = /^((?:model-token|decision)-\d+)(\.\d+)$/.exec(id) ?? [];
      if (owner !== '') return `${this.of(owner)}${rest}`;
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      names.set(id, `${prefix}#${count}`);
      return `${prefix}#${count}`;
    },
  };
}

export function describeEvent({ kind }: SessionEvent, names: Names): string {
  const { of } = names;
  const id = of.bind(names);
  switch (kind.case) {
    case 'sessionCreated':
      return `session.created ${kind.value.agentId}`;
    case 'agentUpdated':
      return `agent.updated ${kind.value.agent?.model ?? ''}`;
    case 'stateUpdated':
      return `state.updated ${short(kind.value.stateJson)}`;
    case 'messageRecorded': {
      const { message, ofCallId } = kind.value;
      const what = ofCallId === '' ? message && partsText(message, names) : `of ${id(ofCallId)}`;
      return `message.recorded ${roleName(message?.role)}: ${what ?? ''}`;
    }
    case 'turnQueued':
      return 'turn.queued';
    case 'turnStarted':
      return kind.value.task === undefined ? 'turn.started' : 'turn.started with a task';
    case 'iterationStarted':
      return `iteration.started ${kind.value.iteration}`;
    case 'turnEnded': {
      const { outcome } = kind.value;
      if (outcome.case === 'failed') return `turn.ended failed, ${failureText(outcome.value)}`;
      if (outcome.case === 'cancelledReason') return `turn.ended cancelled: ${outcome.value}`;
      const { outputJson = '', iterations = 0, usage } = outcome.value ?? {};
      const tokens = usage === undefined ? '' : ` tokens=${usage.inputTokens}+${usage.outputTokens}`;
      return `turn.ended finished iterations=${iterations}${tokens}${outputJson === '' ? '' : ` output=${outputJson}`}`;
    }
    case 'decisionRequested':
      return `decision.requested ${kind.value.trigger}`;
    case 'decisionRefused':
      return `decision.refused: ${kind.value.reason}`;
    case 'decisionRecorded': {
      const { workerName, actions } = kind.value;
      const by = workerName === '' ? '' : ` by ${workerName}`;
      return `decision.recorded${by}: ${actions.map((action) => actionText(action, names)).join(', ') || 'nothing to do'}`;
    }
    case 'modelCallRequested': {
      const { callId, model, toolNames, historyRepairs, toolsLeftOut } = kind.value;
      const notes = [
        ...historyRepairs.map((each) => `repaired: ${each}`),
        ...toolsLeftOut.map((each) => `left out: ${each}`),
      ];
      return [
        `model.call.requested ${id(callId)} ${model} tools: ${toolNames.join(' ') || 'none'}`,
        ...notes,
      ].join('\n  ');
    }
    case 'modelCallAttemptFailed': {
      const { callId, attempt, error } = kind.value;
      return `model.call.attempt_failed ${id(callId)} ${attempt}, ${failureText(error)}`;
    }
    case 'modelCallFinished': {
      const { callId, outcome } = kind.value;
      const what =
        outcome.case === 'response' ? responseText(outcome.value, names) : failureText(outcome.value);
      return `model.call.finished ${id(callId)} ${what}`;
    }
    case 'toolCallRequested': {
      const { callId, name, arguments: text, handler, sequential, endsTurn, input } = kind.value;
      const verdict = input?.status.case === 'valid' ? '' : ` ${input?.status.case ?? 'unchecked'}`;
      const by = handler === ToolHandler.WORKER ? '' : ` ${nameIn(ToolHandlerSchema, handler)}`;
      return `tool.call.requested ${id(callId)} ${name}${text === '' ? '' : ` ${text}`}${by}${verdict}${sequential ? ' sequential' : ''}${endsTurn ? ' ends_turn' : ''}`;
    }
    case 'toolCallDispatched':
      return `tool.call.dispatched ${id(kind.value.callId)} ${kind.value.attempt} to ${kind.value.workerName}`;
    case 'toolCallRequeued':
      return `tool.call.requeued ${id(kind.value.callId)} ${kind.value.reason}`;
    case 'toolCallCheckpointed':
      return `tool.call.checkpointed ${id(kind.value.callId)}`;
    case 'toolCallDeferred':
      return `tool.call.deferred ${id(kind.value.callId)}`;
    case 'toolCallAttemptFailed': {
      const { callId, attempt, error, backoff } = kind.value;
      const wait = backoff === undefined ? 0 : millisOf(backoff);
      return `tool.call.attempt_failed ${id(callId)} ${attempt}, ${failureText(error)}${wait > 0 ? ' (backs off)' : ''}`;
    }
    case 'toolCallFinished': {
      const { callId, outcome, usage } = kind.value;
      const tokens = usage === undefined ? '' : ` tokens=${usage.inputTokens}+${usage.outputTokens}`;
      return `tool.call.finished ${id(callId)} ${outcomeText(outcome)}${tokens}`;
    }
    case 'toolCallLateAnswer':
      return `tool.call.late_answer ${id(kind.value.callId)} ${outcomeText(kind.value.outcome)}`;
    case 'subagentStarted':
      return `subagent.started ${id(kind.value.callId)} ${kind.value.agentId} in ${id(kind.value.sessionId)}`;
    case 'interruptRaised': {
      const { callId, reason, payloadJson } = kind.value;
      return `interrupt.raised ${callId === '' ? 'turn' : id(callId)} ${reason} ${payloadJson}`.trimEnd();
    }
    case 'interruptResumed': {
      const { callId, payloadJson, denyReason } = kind.value;
      return `interrupt.resumed ${callId === '' ? 'turn' : id(callId)} ${denyReason === undefined ? payloadJson : `denied: ${denyReason}`}`.trimEnd();
    }
    case undefined:
      return '?';
    default:
      return kind satisfies never;
  }
}

/** A request to a model, one line a message. */
export function describeRequest(request: ModelRequest, names: Names): string[] {
  const tools = request.tools.map(({ name }) => name).join(' ') || 'none';
  return [
    `> ${request.model} tools: ${tools}`,
    ...request.messages.map((message) => `>   ${messageLine(message, names)}`),
  ];
}

export function messageLine(message: ChatMessage, names: Names): string {
  return `${roleName(message.role)}: ${partsText(message, names)}`;
}

function partsText({ parts }: ChatMessage, names: Names): string {
  return parts.map((part) => partText(part, names)).join(' | ');
}

function partText({ kind }: Part, names: Names): string {
  switch (kind.case) {
    case 'content':
      return blockText(kind.value);
    case 'toolCall':
      return `call ${names.of(kind.value.callId)} ${kind.value.name} ${short(kind.value.arguments)}`;
    case 'toolResult':
      return `${names.of(kind.value.callId)} ${kind.value.name} = ${outcomeText(kind.value.outcome)}`;
    case 'reasoning':
      return `(thinks ${kind.value.text})`;
    default:
      return '?';
  }
}

function responseText({ message, finishReason }: ModelResponse, names: Names): string {
  const said = message === undefined ? 'nothing' : partsText(message, names) || 'nothing';
  const usual = finishReason === FinishReason.STOP || finishReason === FinishReason.TOOL_CALLS;
  return usual ? said : `${said} (${nameIn(FinishReasonSchema, finishReason)})`;
}

function actionText({ kind }: Action, names: Names): string {
  switch (kind.case) {
    case 'modelCall': {
      const { withoutTools, toolNames, messages, model } = kind.value;
      const notes = [
        model,
        withoutTools ? 'without tools' : '',
        toolNames.length > 0 ? `with ${toolNames.join(' ')}` : '',
        messages.length > 0 ? `with ${messages.length} messages` : '',
      ].filter((note) => note !== '');
      return ['model.call', ...notes].join(' ');
    }
    case 'toolCall':
      return `tool.call ${names.of(kind.value.callId)} ${kind.value.name}`;
    case 'subagentSpawn':
      return `subagent.spawn ${names.of(kind.value.callId)} ${kind.value.agentId}`;
    case 'done':
      return kind.value.outputJson === '' ? 'done' : `done ${kind.value.outputJson}`;
    default:
      return kind.case ?? '?';
  }
}

type AnyOutcome =
  | { readonly case: 'result'; readonly value: ToolResult }
  | { readonly case: 'error'; readonly value: Failure }
  | { readonly case: undefined; readonly value?: undefined };

export function outcomeText(outcome: AnyOutcome): string {
  switch (outcome.case) {
    case 'result': {
      const { structuredJson, content, isError, endsTurn } = outcome.value;
      const marks = `${isError ? 'is_error ' : ''}${endsTurn ? 'ends_turn ' : ''}`;
      return `${marks}${short(structuredJson ?? content.map(blockText).join(' | '))}`;
    }
    case 'error':
      return failureText(outcome.value);
    default:
      return 'no outcome';
  }
}

function failureText(failure: Failure | undefined): string {
  return failure === undefined ? 'error' : `error ${failure.code}: ${short(failure.message, 400)}`;
}

function blockText({ kind }: Content): string {
  if (kind.case === 'text') return short(kind.value.text);
  return `[${kind.case ?? '?'}]`;
}

function short(text: string, most = 200): string {
  const line = text.replaceAll('\n', '\\n');
  return line.length > most ? `${line.slice(0, 60)}… (${text.length} characters)` : line;
}

function roleName(role: Role | undefined): string {
  return nameIn(RoleSchema, role ?? Role.UNSPECIFIED);
}

function nameIn(schema: DescEnum, value: number): string {
  return (schema.value[value]?.localName ?? '').toLowerCase();
}
