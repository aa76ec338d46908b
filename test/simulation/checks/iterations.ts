import { Role, type ToolCallPart } from '../../../gen/spindle/v1/message_pb.ts';
import { NO_TOOL } from '../world/talks.ts';
import type { Recorded, Report } from './evidence.ts';
import type { TalkEvidence } from './talk-evidence.ts';

interface CallState {
  readonly callId: string;
  readonly name: string;
  readonly sequential: boolean;
  readonly requested: Recorded;
  ended: boolean;
  dispatched: boolean;
}

/** What an iteration does with its calls: 4.5, 6.1 to 6.3, 6.5, 6.7, 6.9. */
export function checkIterations(
  talks: readonly TalkEvidence[],
  report: Report,
  cover: (what: string) => void,
): void {
  for (const { sessionId, records } of talks) {
    const calls = new Map<string, CallState>();
    /** The calls of the newest iteration, in the order in which they were requested. */
    let iteration: CallState[] = [];
    /** What the newest model call offered, and what its response called. */
    let offered = new Set<string>();
    let wanted = new Map<string, ToolCallPart>();
    const responses = new Map<string, readonly ToolCallPart[]>();
    const modelCalls = new Set<string>();
    const modelEnds = new Set<string>();
    for (const record of records) {
      const { event, time } = record;
      const { kind, sequence } = event;
      const where = `${sessionId}: event ${sequence}`;
      const call =
        kind.value !== undefined && 'callId' in kind.value ? calls.get(kind.value.callId) : undefined;
      switch (kind.case) {
        case 'iterationStarted':
        case 'modelCallRequested': {
          for (const { callId, ended } of calls.values())
            if (!ended) report('6.1', `${where}: ${kind.case} while ${callId} has not ended`, time);
          if (kind.case === 'iterationStarted') {
            iteration = [];
            break;
          }
          if (modelCalls.has(kind.value.callId))
            report('6.1', `${where}: model call ${kind.value.callId} is requested again`, time);
          modelCalls.add(kind.value.callId);
          offered = new Set(kind.value.toolNames);
          wanted = new Map();
          break;
        }
        case 'modelCallFinished': {
          const { callId, outcome } = kind.value;
          if (modelEnds.has(callId)) report('6.1', `${where}: model call ${callId} ends again`, time);
          modelEnds.add(callId);
          if (outcome.case !== 'response') break;
          const parts = outcome.value.message?.parts ?? [];
          const made = parts.flatMap((part) => (part.kind.case === 'toolCall' ? [part.kind.value] : []));
          responses.set(callId, made);
          wanted = new Map(made.map((part) => [part.callId, part]));
          if (wanted.size !== made.length) report('6.5', `${where}: a response holds a call id twice`, time);
          for (const { callId: id } of made) {
            if (id === '') report('6.5', `${where}: a response holds a call without an id`, time);
            if (calls.has(id)) report('6.5', `${where}: call id ${id} is used already`, time);
          }
          break;
        }
        case 'toolCallRequested': {
          const { callId, name, sequential } = kind.value;
          if (call !== undefined) report('6.1', `${where}: ${callId} is requested again`, time);
          const made = { callId, name, sequential, requested: record, ended: false, dispatched: false };
          calls.set(callId, made);
          iteration.push(made);
          const part = wanted.get(callId);
          if (part !== undefined && part.name !== name)
            report('6.7', `${where}: ${callId} calls ${name}, and the model called ${part.name}`, time);
          if (sequential && iteration.length > 1) cover('sequential call beside others');
          break;
        }
        case 'toolCallDispatched':
          if (call === undefined || call.ended) {
            report('4.5', `${where}: ${kind.value.callId} is dispatched, and has ended or never began`, time);
            break;
          }
          call.dispatched = true;
          checkBarrier(call);
          break;
        case 'toolCallDeferred':
          cover('call of a conversation deferred');
          break;
        case 'toolCallFinished': {
          if (call === undefined || call.ended) {
            report('4.5', `${where}: ${kind.value.callId} ends without a beginning, or twice`, time);
            break;
          }
          call.ended = true;
          const code = kind.value.outcome.case === 'error' ? kind.value.outcome.value.code : 'result';
          cover(`call of a conversation ends: ${code}`);
          const part = wanted.get(call.callId);
          // What was not offered with this very request the model cannot call (6.3, 6.7).
          if (part !== undefined && !offered.has(part.name)) {
            if (call.dispatched || code === 'result')
              report('6.3', `${where}: ${part.name} was not offered, and ran`, time);
            if (code === 'unknown_tool') cover('undeclared tool refused');
          }
          if (call.name === NO_TOOL && (call.dispatched || code === 'result'))
            report('6.7', `${where}: ${call.name}, which nobody declares, ran`, time);
          break;
        }
        case 'messageRecorded': {
          const { message, ofCallId } = kind.value;
          if (message?.role !== Role.TOOL || ofCallId === '') break;
          if (calls.get(ofCallId)?.ended !== true)
            report('6.5', `${where}: a result of ${ofCallId} is recorded, which has not ended`, time);
          break;
        }
        case 'turnEnded':
          for (const { callId, ended } of calls.values())
            if (!ended && event.turnId === calls.get(callId)?.requested.event.turnId)
              report('4.10', `${where}: the turn ends, and ${callId} does not`, time);
          break;
        default:
          break;
      }

      /** 6.2: a sequential call waits for those before it, and those after it wait for it. */
      function checkBarrier(dispatched: CallState): void {
        const place = iteration.indexOf(dispatched);
        for (const before of iteration.slice(0, Math.max(place, 0)))
          if (!before.ended && (before.sequential || dispatched.sequential))
            report('6.2', `${where}: ${dispatched.callId} runs before ${before.callId} has ended`, time);
      }
    }
    for (const { callId, ended } of calls.values())
      if (!ended) report('4.5', `${sessionId}: call ${callId} has no end`);
  }
}
