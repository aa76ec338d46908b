import type { ModelCallFinished } from '../../../gen/spindle/v1/event_pb.ts';
import { type ChatMessage, Role } from '../../../gen/spindle/v1/message_pb.ts';
import type { ModelRequest } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Evidence, Report } from './evidence.ts';
import type { TalkEvidence } from './talk-evidence.ts';

/** What providers were sent: 5.13, 6.1, 6.5, 7.1. */
export function checkModelRequests(
  evidence: Evidence,
  talks: readonly TalkEvidence[],
  report: Report,
  cover: (what: string) => void,
): void {
  /** When each model call became durable, and when it ended. */
  const requested = new Map<string, number>();
  const ended = new Map<string, number>();
  for (const { records } of talks) {
    for (const { event, index } of records) {
      const { kind } = event;
      if (kind.case === 'modelCallRequested') requested.set(kind.value.callId, index);
      if (kind.case === 'modelCallFinished') ended.set(kind.value.callId, index);
    }
  }
  const made = new Set<string>();
  const makers = new Map<string, string>();
  evidence.facts.forEach((fact, index) => {
    if (fact.kind !== 'model_asked') return;
    const { engine, callId, attempt, request, time } = fact;
    const where = `model call ${callId}`;
    if ((requested.get(callId) ?? Number.POSITIVE_INFINITY) > index)
      report('7.1', `${where} was made before its request was durable`, time);
    if ((ended.get(callId) ?? Number.POSITIVE_INFINITY) < index)
      report('7.1', `${where} was made after its end`, time);
    const name = `${engine} ${callId} ${attempt}`;
    if (made.has(name)) report('7.1', `${where}: attempt ${attempt} was made twice by ${engine}`, time);
    made.add(name);
    if ((makers.get(callId) ?? engine) !== engine) cover('model call made again after a restart');
    makers.set(callId, engine);
    if (attempt > 1) cover('model call retried');
    for (const fault of pairingFaults(request.messages)) report('6.5', `${where}: ${fault}`, time);
  });
}

/**
 * 6.3, 5.11: a call is of the definition that its own model call offered. Definitions of one name differ in their
 * descriptions alone, so that each description has one digest in the whole world.
 */
export function checkDefinitions(
  evidence: Evidence,
  talks: readonly TalkEvidence[],
  report: Report,
  cover: (what: string) => void,
): void {
  const requests = new Map<string, ModelRequest>();
  for (const fact of evidence.facts) if (fact.kind === 'model_asked') requests.set(fact.callId, fact.request);
  const digests = new Map<string, string>();
  const descriptions = new Map<string, string>();
  for (const { sessionId, records } of talks) {
    let offered = new Map<string, string>();
    let wanted = new Set<string>();
    for (const { event, time } of records) {
      const { kind } = event;
      if (kind.case === 'modelCallFinished') {
        wanted = callsOf(kind.value);
        offered = new Map(
          requests
            .get(kind.value.callId)
            ?.tools.map(({ name, description }) => [name, `${name}: ${description}`]),
        );
      }
      if (kind.case !== 'toolCallRequested' || !wanted.has(kind.value.callId)) continue;
      const { name, toolDigest } = kind.value;
      const description = offered.get(name);
      if (description === undefined || toolDigest === '') continue;
      const known = digests.get(description) ?? toolDigest;
      const other = descriptions.get(toolDigest) ?? description;
      if (known !== toolDigest || other !== description)
        report('6.3', `${sessionId}: event ${event.sequence} is not of the definition ${description}`, time);
      digests.set(description, toolDigest);
      descriptions.set(toolDigest, description);
      if (description.endsWith('Version 2.')) cover('call of a newer definition');
    }
  }
}

/** What the model itself calls; a decision may start others, of the tools as they are by then. */
function callsOf({ outcome }: ModelCallFinished): Set<string> {
  const parts = outcome.case === 'response' ? (outcome.value.message?.parts ?? []) : [];
  return new Set(parts.flatMap(({ kind }) => (kind.case === 'toolCall' ? [kind.value.callId] : [])));
}

/** Each call has exactly one result, after it, before anybody else speaks, in the order of the calls (6.1, 6.5). */
function pairingFaults(messages: readonly ChatMessage[]): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  let open: string[] = [];
  for (const { role, parts } of messages) {
    if (role !== Role.TOOL && open.length > 0) {
      faults.push(`${open.join(', ')} have no result before the next message`);
      open = [];
    }
    for (const { kind } of parts) {
      if (kind.case === 'toolCall') {
        if (seen.has(kind.value.callId)) faults.push(`call ${kind.value.callId} occurs twice`);
        seen.add(kind.value.callId);
        open.push(kind.value.callId);
      }
      if (kind.case !== 'toolResult') continue;
      if (open[0] !== kind.value.callId)
        faults.push(`a result of ${kind.value.callId} where one of ${open[0] ?? 'none'} is due`);
      open = open.filter((callId) => callId !== kind.value.callId);
      if (kind.value.outcome.case === undefined)
        faults.push(`the result of ${kind.value.callId} says nothing`);
    }
  }
  if (open.length > 0) faults.push(`${open.join(', ')} have no result`);
  return faults;
}
