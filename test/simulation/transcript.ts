import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import { type ChatMessage, Role } from '../../gen/spindle/v1/message_pb.ts';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { GoAwayReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import { unreachable } from '../../src/core/unreachable.ts';
import type { ModelAnswer } from '../../src/engine/ports.ts';
import type { Observed } from './world/history.ts';

/** A story as lines to read: when, who, what. */
export function transcript(facts: readonly Observed[]): string {
  return facts.map((fact) => `${fact.time.toFixed(3).padStart(12)}  ${line(fact)}`).join('\n');
}

function line(fact: Observed): string {
  switch (fact.kind) {
    case 'engine_started':
      return `${fact.engine}  starts`;
    case 'engine_listens':
      return `${fact.engine}  listens`;
    case 'engine_died':
      return `${fact.engine}  DIES: ${fact.why}`;
    case 'worker_started':
      return `${fact.worker}  starts as ${fact.instanceId}`;
    case 'worker_died':
      return `${fact.worker}  DIES: ${fact.why}`;
    case 'worker_ended':
      return `${fact.worker}  ends: ${fact.why}, ${fact.unfinished} unfinished`;
    case 'appending':
      return `${fact.engine}  appends to ${fact.sessionId}`;
    case 'committed':
      return `${fact.engine || 'another engine'}  records ${fact.sessionId}: ${fact.events.map(eventText).join('; ')}`;
    case 'engine_wrote':
      return `${fact.engine} -> ${fact.worker} (stream ${fact.stream})  writes ${frameText(fact.frame)}`;
    case 'worker_wrote':
      return `${fact.worker} -> ${fact.engine} (stream ${fact.stream})  writes ${frameText(fact.frame)}`;
    case 'engine_read':
      return `${fact.engine} <- ${fact.worker} (stream ${fact.stream})  reads ${frameText(fact.frame)}`;
    case 'worker_read':
      return `${fact.worker} <- ${fact.engine} (stream ${fact.stream})  reads ${frameText(fact.frame)}`;
    case 'stream_ended':
      return `${fact.side === 'engine' ? fact.engine : fact.worker}  knows that stream ${fact.stream} of ${fact.worker} is over`;
    case 'run_started':
      return `${fact.worker}  runs ${fact.callId}, attempt ${fact.attempt}, lease ${fact.leaseToken}`;
    case 'run_ended':
      return `${fact.worker}  has run lease ${fact.leaseToken}: ${fact.outcome.case}`;
    case 'asked':
      return `${fact.wait}  asks, ${fact.as}, ${fact.wantsAll ? 'for all updates' : 'for the end'}`;
    case 'told':
      return `${fact.wait}  is told ${fact.update.case}`;
    case 'wait_lost':
      return `${fact.wait}  is refused: ${fact.reason}`;
    case 'caller_knows':
      return `the caller of ${fact.callId}  knows its end`;
    case 'settled':
      return `${fact.callId}  is settled from outside: ${fact.verdict === undefined ? fact.reason : nameOf(AnswerVerdict, fact.verdict)}`;
    case 'cancelled':
      return `${fact.callId}  is cancelled: ${fact.refused || 'done'}`;
    case 'model_asked':
      return `${fact.engine}  asks the model, ${fact.callId} ${fact.attempt}: ${fact.request.messages.map(messageText).join(' | ')}; offers ${fact.request.tools.map(({ name }) => name).join(' ')}`;
    case 'model_said':
      return `${fact.engine}  hears from the model, ${fact.callId} ${fact.attempt}: ${modelText(fact.answer)}`;
    case 'decision_asked':
      return `${fact.worker}  is asked about ${fact.trigger}, ${fact.sessionId} ${fact.decisionId}, lease ${fact.leaseToken}`;
    case 'decision_said':
      return `${fact.worker}  has decided ${fact.sessionId} ${fact.decisionId}: ${fact.ending.kind === 'answered' ? fact.ending.outcome.case : fact.ending.reason}`;
    case 'turn_accepted':
      return `${fact.sessionId}  turn ${fact.turnId} is taken${fact.queued ? ', queued' : ''}${fact.existing ? ', known' : ''}`;
    case 'turn_refused':
      return `${fact.sessionId}  turn ${fact.turnId} is refused: ${fact.reason}`;
    case 'turn_missing':
      return `${fact.sessionId}  turn ${fact.turnId} is gone`;
    case 'turn_cancelled':
      return `${fact.sessionId}  turn ${fact.turnId || '(none)'} is stopped`;
    case 'resumed':
      return `${fact.sessionId}  interrupt ${fact.interruptId} is ${fact.denied ? 'denied' : 'approved'} with ${fact.payloadJson}${fact.already ? ', too late' : ''}`;
    case 'watch_begun':
      return `${fact.watch}  watches from ${fact.afterSequence} on`;
    case 'watch_told':
      return `${fact.watch}  is told ${fact.events.map(eventText).join('; ')}`;
    case 'watch_lost':
      return `${fact.watch}  is lost: ${fact.reason}`;
    case 'client_knows':
      return `the client of ${fact.turnId}  knows its end`;
    case 'bug':
      return `BUG  ${String(fact.error)}`;
    case 'fault':
      return `FAULT  ${fact.fault}`;
    default:
      return unreachable(fact);
  }
}

function eventText({ sequence, kind, journal }: SessionEvent): string {
  const lease = journal?.leaseToken ? ` of lease ${journal.leaseToken}` : '';
  return `${sequence} ${kind.case}${detail(kind)}${lease}`;
}

function detail(kind: SessionEvent['kind']): string {
  switch (kind.case) {
    case 'toolCallDispatched':
      return ` (attempt ${kind.value.attempt} to ${kind.value.workerName})`;
    case 'toolCallRequeued':
      return ` (${kind.value.reason})`;
    case 'toolCallAttemptFailed':
      return ` (${kind.value.error?.code}${kind.value.answered ? ', answered' : ''})`;
    case 'decisionRequested':
      return ` (${kind.value.decisionId} on ${kind.value.trigger})`;
    case 'decisionRecorded':
      return ` (${kind.value.decisionId} by ${kind.value.workerName || 'the engine'}: ${kind.value.actions.map(({ kind: action }) => action.case).join(' ')})`;
    case 'decisionRefused':
      return ` (${kind.value.decisionId}: ${kind.value.reason})`;
    case 'toolCallRequested':
      return ` (${kind.value.callId} ${kind.value.name}${kind.value.sequential ? ', sequential' : ''})`;
    case 'messageRecorded':
      return ` (${kind.value.message?.id} of ${kind.value.ofCallId || kind.value.message?.role})`;
    case 'interruptRaised':
      return ` (${kind.value.interruptId} ${kind.value.callId} ${kind.value.reason})`;
    case 'interruptResumed':
      return ` (${kind.value.interruptId} ${kind.value.callId} ${kind.value.denyReason ?? 'approved'})`;
    case 'modelCallRequested':
    case 'subagentStarted':
      return ` (${kind.value.callId})`;
    case 'turnEnded':
      return ` (${kind.value.outcome.case}${kind.value.outcome.case === 'failed' ? `: ${kind.value.outcome.value.code}` : ''})`;
    case 'toolCallFinished':
      return kind.value.outcome.case === 'error' ? ` (${kind.value.outcome.value.code})` : ' (result)';
    default:
      return '';
  }
}

function messageText({ role, parts }: ChatMessage): string {
  const texts = parts.map(({ kind }) => {
    if (kind.case === 'toolCall') return `call ${kind.value.callId} ${kind.value.name}`;
    if (kind.case === 'toolResult') return `result ${kind.value.callId} ${kind.value.outcome.case}`;
    return kind.case ?? '';
  });
  return `${nameOf(Role, role)} ${texts.join(', ')}`;
}

function modelText(answer: ModelAnswer): string {
  if (answer.kind === 'failure') return answer.failure.code;
  const { message } = answer.response;
  return message === undefined ? 'nothing' : messageText(message);
}

type Frame = Extract<Observed, { readonly frame: unknown }>['frame'];

function frameText(frame: Frame): string {
  switch (frame.case) {
    case 'hello': {
      const { instanceId, streamNumber, held, resumeToken, draining } = frame.value;
      const names = held.map(({ leaseToken, answered }) => leaseToken + (answered ? ' (answered)' : ''));
      return `hello of ${instanceId}, stream number ${streamNumber}, ${resumeToken === '' ? 'no token' : 'with token'}${draining ? ', draining' : ''}, holds [${names.join(', ')}]`;
    }
    case 'welcome':
      return `welcome, abandon [${frame.value.abandon.join(', ')}]`;
    case 'heartbeat':
      return `heartbeat ${frame.value.sequence}, received through ${frame.value.receivedThrough}, holds [${frame.value.held.join(', ')}]`;
    case 'heartbeatReply':
      return `heartbeat_reply ${frame.value.sequence}, abandon [${frame.value.abandon.join(', ')}]`;
    case 'dispatch':
      return `dispatch ${frame.value.sequence} of lease ${frame.value.leaseToken}`;
    case 'answer':
      return `answer ${frame.value.outcome.case} to lease ${frame.value.leaseToken}`;
    case 'acknowledge':
      return `acknowledge ${nameOf(AnswerVerdict, frame.value.verdict)} of lease ${frame.value.leaseToken}: ${frame.value.reason}`;
    case 'cancel':
    case 'reject':
    case 'progress':
      return `${frame.case} of lease ${frame.value.leaseToken}`;
    case 'goAway':
      return `go_away ${nameOf(GoAwayReason, frame.value.reason)}`;
    case 'capacity':
      return `capacity ${frame.value.maxInFlight}`;
    default:
      return frame.case ?? 'an unknown frame';
  }
}

function nameOf(names: Readonly<Record<string, number>>, value: number): string {
  return Object.keys(names).find((name) => names[name] === value) ?? String(value);
}
