import { create, equals } from '@bufbuild/protobuf';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import {
  type CallToolResponse,
  CallToolResponseSchema,
  type CallUpdate,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import type { CallEvidence, Evidence, Report } from './evidence.ts';
import { textOf } from './runs.ts';

/** What an event says to whoever watches: its kind, and what tells two of a kind apart. */
interface Notice {
  readonly name: string;
  readonly index: number;
}

interface Wait {
  readonly wait: string;
  readonly call: CallEvidence | undefined;
  readonly as: 'first' | 'joining' | 'clashing';
  readonly wantsAll: boolean;
  readonly told: {
    readonly name: string;
    readonly index: number;
    readonly time: number;
    readonly kind: CallUpdate['kind'];
  }[];
  lost: string | undefined;
}

/** Refusals that pass: whoever asks again gets on. */
const PASSING: ReadonlySet<string> = new Set([
  'overloaded',
  'shutting_down',
  'journal_unavailable',
  'session_moved',
]);

/** What callers were told, held against the log: 4.5, 4.9, 4.10, 4.12, 7.1. */
export function checkWaits(evidence: Evidence, report: Report): void {
  const waits = new Map<string, Wait>();
  /** The first wait of each call. */
  const first = new Map<string, string>();
  for (const [index, fact] of evidence.facts.entries()) {
    switch (fact.kind) {
      case 'asked': {
        const { wait, as, wantsAll } = fact;
        if (!first.has(fact.callId)) first.set(fact.callId, wait);
        waits.set(wait, {
          wait,
          as,
          wantsAll,
          call: evidence.calls.get(fact.callId),
          told: [],
          lost: undefined,
        });
        break;
      }
      case 'told': {
        const wait = waits.get(fact.wait);
        if (wait?.lost !== undefined || wait?.told.at(-1)?.name === 'finished')
          report('4.5', `${fact.wait}: was told ${fact.update.case} after its last update`, fact.time);
        if (fact.update.case !== 'progress')
          wait?.told.push({ name: nameOf(fact.update), index, time: fact.time, kind: fact.update });
        break;
      }
      case 'wait_lost': {
        const wait = waits.get(fact.wait);
        if (wait !== undefined) wait.lost = fact.reason;
        break;
      }
      case 'caller_knows':
        if (fact.end.case === 'finished')
          sameEnd(evidence.calls.get(fact.callId), fact.end.value, 'the caller', fact.time);
        break;
      case 'settled': {
        const said = endText(evidence.calls.get(fact.callId));
        const counts = fact.verdict === AnswerVerdict.RECORDED || fact.verdict === AnswerVerdict.DUPLICATE;
        if (counts && said !== fact.text)
          report('4.9', `${fact.callId}: settled with ${fact.text}, ended with ${said}`, fact.time);
        if (counts && !endedBy(evidence.calls.get(fact.callId), index))
          report('7.1', `${fact.callId}: a settlement was confirmed before it was durable`, fact.time);
        break;
      }
      case 'cancelled':
        if (fact.refused === '' && !endedBy(evidence.calls.get(fact.callId), index))
          report('4.10', `${fact.callId}: a cancel was confirmed, and the call goes on`, fact.time);
        break;
      default:
        break;
    }
  }
  for (const wait of waits.values()) checkWait(wait);

  function checkWait({ wait, as, wantsAll, call, told, lost }: Wait): void {
    if (as === 'clashing') {
      if (told.length > 0) report('4.12', `${wait}: joined a call with other arguments`, told[0]?.time);
      if (lost !== undefined && lost !== 'call_id_conflict' && !PASSING.has(lost))
        report('4.12', `${wait}: refused with ${lost}`);
      return;
    }
    if (lost !== undefined && !PASSING.has(lost)) report('4.12', `${wait}: refused with ${lost}`);
    if (told.length === 0) return;
    if (call === undefined) {
      report('7.1', `${wait}: was told of a call that is not on record`, told[0]?.time);
      return;
    }
    const last = told.at(-1);
    if (last?.kind.case === 'finished') sameEnd(call, last.kind.value, wait, last.time);
    if (!wantsAll) {
      if (told.length !== 1 || last?.name !== 'finished')
        report('4.5', `${wait}: asked for the end alone, and was told ${names(told)}`);
      return;
    }
    const notices = noticesOf(call);
    const fits = notices.some((_, start) => follows(notices, start, told));
    if (!fits)
      report(
        '4.5',
        `${wait}: was told ${names(told)}, of ${notices.map(({ name }) => name).join(', ')}`,
        last?.time,
      );
    if (first.get(call.callId) === wait && told[0]?.name !== 'queued')
      report('4.5', `${wait}: the first update is ${told[0]?.name}`, told[0]?.time);
  }

  /** The updates, from the one that says where the call stands, are the notices from there on, each once durable. */
  function follows(notices: readonly Notice[], start: number, told: Wait['told']): boolean {
    return told.every(({ name, index }, offset) => {
      const notice = notices[start + offset];
      if (notice === undefined || notice.index > index) return false;
      return offset === 0 ? standing(notice.name) === name || notice.name === name : notice.name === name;
    });
  }

  function sameEnd(call: CallEvidence | undefined, told: CallToolResponse, who: string, time: number): void {
    const end = call?.end?.value;
    const recorded =
      end &&
      create(CallToolResponseSchema, { callId: end.callId, attempts: end.attempts, outcome: end.outcome });
    if (recorded === undefined || !equals(CallToolResponseSchema, recorded, told))
      report('4.5', `${who} was told another end of ${told.callId} than the recorded one`, time);
  }
}

function noticesOf({ records }: CallEvidence): Notice[] {
  return records.flatMap(({ event: { kind }, index }) => {
    switch (kind.case) {
      case 'toolCallRequested':
      case 'toolCallRequeued':
        return [{ name: 'queued', index }];
      case 'toolCallDispatched':
        return [{ name: `started ${kind.value.attempt}`, index }];
      case 'toolCallAttemptFailed':
        return [{ name: `retrying ${kind.value.attempt}`, index }];
      case 'toolCallDeferred':
        return [{ name: 'open', index }];
      case 'interruptRaised':
        return [{ name: 'interrupted', index }];
      case 'toolCallFinished':
        return [{ name: 'finished', index }];
      default:
        return [];
    }
  });
}

function nameOf(kind: CallUpdate['kind']): string {
  return kind.case === 'started' || kind.case === 'retrying'
    ? `${kind.case} ${kind.value.attempt}`
    : (kind.case ?? '');
}

/** What somebody who comes now is told first. */
function standing(name: string): string {
  return name.startsWith('retrying') ? 'queued' : name;
}

function names(told: readonly { readonly name: string }[]): string {
  return told.map(({ name }) => name).join(', ');
}

function endedBy(call: CallEvidence | undefined, index: number): boolean {
  return call?.end !== undefined && call.end.at.index < index;
}

function endText(call: CallEvidence | undefined): string {
  const outcome = call?.end?.value.outcome;
  if (outcome?.case === 'result') return textOf(outcome.value);
  return outcome?.case === 'error' ? outcome.value.message : '';
}
