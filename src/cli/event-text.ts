import { type ChatMessage, type LogEvent, messageText, Role } from '../sdk/index.ts';
import { oneLine } from './style.ts';

/** Says in a few words what an event tells, beyond its kind. */
export type EventText = (event: LogEvent) => string;

/** For the events of one session, in order: some name what earlier ones have told in full. */
export function createEventText(): EventText {
  const names = new Map<string, string>();
  const argumentsOf = new Map<string, string>();
  const nameOf = (callId: string): string => names.get(callId) ?? callId;

  const noteCalls = (message: ChatMessage | undefined): readonly string[] =>
    (message?.parts ?? []).flatMap(({ kind }) => {
      if (kind.case !== 'toolCall') return [];
      argumentsOf.set(kind.value.callId, kind.value.arguments);
      return [kind.value.name];
    });

  function textOf(event: LogEvent): string {
    switch (event.kind) {
      case 'session.created':
        return `agent ${event.data.agentId}`;
      case 'agent.updated':
        return event.data.agent?.model ?? '';
      case 'state.updated':
        return event.data.stateJson;
      case 'message.recorded': {
        const { message, ofCallId } = event.data;
        if (message === undefined) return '';
        const said = ofCallId === '' ? messageText(message) : `what ${nameOf(ofCallId)} answered`;
        noteCalls(message);
        return `${ROLES[message.role] ?? 'somebody'}: ${said}`;
      }
      case 'turn.queued':
      case 'turn.started': {
        const { input } = event.data;
        if (input?.kind.case === 'action') return `action ${input.kind.value.name}`;
        return input?.kind.case === 'messages' ? input.kind.value.messages.map(messageText).join(' ') : '';
      }
      case 'iteration.started':
        return String(event.data.iteration);
      case 'turn.ended': {
        const { outcome } = event.data;
        if (outcome.case === 'failed') return `failed, ${failureText(outcome.value)}`;
        if (outcome.case === 'cancelledReason') return `cancelled: ${outcome.value}`;
        return `finished ${outcome.case === 'finished' ? outcome.value.outputJson : ''}`;
      }
      case 'decision.requested':
        return event.data.trigger;
      case 'decision.refused':
        return event.data.reason;
      case 'decision.recorded': {
        const { workerName, actions } = event.data;
        const what = actions.map(({ kind }) => dotted(kind.case ?? 'unknown')).join(', ');
        return `${workerName === '' ? 'proposal' : `by ${workerName}`}: ${what === '' ? 'nothing more' : what}`;
      }
      case 'model.call.requested': {
        const { callId, model, toolNames } = event.data;
        names.set(callId, model);
        return `${model}, ${toolNames.length} tools`;
      }
      case 'model.call.finished': {
        const { outcome } = event.data;
        if (outcome.case === 'error') return `failed, ${failureText(outcome.value)}`;
        const message = outcome.value?.message;
        const calls = noteCalls(message);
        if (calls.length > 0) return `calls ${calls.join(', ')}`;
        return message === undefined ? '' : messageText(message);
      }
      case 'tool.call.requested': {
        const { callId, name } = event.data;
        names.set(callId, name);
        return `${name} ${event.data.arguments || (argumentsOf.get(callId) ?? '')}`;
      }
      case 'tool.call.dispatched':
        return `${nameOf(event.data.callId)} to ${event.data.workerName}`;
      case 'tool.call.requeued':
        return `${nameOf(event.data.callId)}: ${event.data.reason}`;
      case 'tool.call.checkpointed':
      case 'tool.call.deferred':
        return nameOf(event.data.callId);
      case 'model.call.attempt_failed':
      case 'tool.call.attempt_failed': {
        const { callId, attempt, error } = event.data;
        return `${nameOf(callId)}, attempt ${attempt}: ${failureText(error)}`;
      }
      case 'tool.call.late_answer':
      case 'tool.call.finished': {
        const { callId, outcome } = event.data;
        if (outcome.case === 'error') return `${nameOf(callId)} failed, ${failureText(outcome.value)}`;
        const content = outcome.value?.content ?? [];
        const said = content.map(({ kind }) => (kind.case === 'text' ? kind.value.text : `[${kind.case}]`));
        return `${nameOf(callId)}: ${said.join(' ')}`;
      }
      case 'subagent.started':
        return `${event.data.agentId} in session ${event.data.sessionId}`;
      case 'interrupt.raised': {
        const { interruptId, callId, reason } = event.data;
        return `${interruptId}: ${reason}${callId === '' ? '' : ` of ${nameOf(callId)}`}`;
      }
      case 'interrupt.resumed': {
        const { interruptId, denyReason, payloadJson } = event.data;
        return `${interruptId}: ${denyReason === undefined ? `yes ${payloadJson}` : `no, ${denyReason}`}`;
      }
    }
  }

  return (event) => oneLine(textOf(event)).slice(0, MAX_TEXT);
}

/** As the contract's documentation names actions. */
function dotted(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `.${letter.toLowerCase()}`);
}

/** A result may be long, and a line is for looking at. `--json` has it whole. */
const MAX_TEXT = 500;

const ROLES: Readonly<Partial<Record<Role, string>>> = {
  [Role.SYSTEM]: 'system',
  [Role.USER]: 'user',
  [Role.ASSISTANT]: 'assistant',
  [Role.TOOL]: 'tool',
};

function failureText(error: { readonly code: string; readonly message: string } | undefined): string {
  return error === undefined ? 'unknown' : `${error.code}: ${error.message}`;
}
