import { type ChatMessage, messageText, Role, type TurnEvent } from '../sdk/index.ts';
import { callEndLine, runningText, type ShownCall } from './call-line.ts';
import { cut, harmless, lengthOfTime, oneLine, styled } from './style.ts';
import type { TurnScreen } from './turn-screen.ts';

/** Shows a turn to a person, event by event: text as it comes, what calls do, how they end. */
export interface TurnView {
  event(event: TurnEvent): void;
}

/**
 * @param asks a person is asked here what waits for one, so that no line has to say so
 */
export function createTurnView(screen: TurnScreen, { asks }: { readonly asks: boolean }): TurnView {
  const { stderr } = process;
  const calls = new Map<string, ShownCall>();
  const running = new Set<string>();
  const written = new Map<string, string>();
  /** The arguments of calls, by their ids: the event of a call leaves to the model's message what that holds. */
  const argumentsOf = new Map<string, string>();

  const change = (callId: string, changed: Partial<ShownCall>): void => {
    const call = calls.get(callId);
    if (call !== undefined) calls.set(callId, { ...call, ...changed });
  };
  const note = (text: string): void =>
    screen.line(`  ${styled(stderr, 'yellow', cut(oneLine(text), screen.columns - 3))}`);
  const showRunning = (): void => {
    const all = [...running].flatMap((callId) => calls.get(callId) ?? []);
    if (all.length === 0) screen.clear();
    else screen.status(runningText(all, screen.columns));
  };
  const nameOf = (callId: string): string => calls.get(callId)?.name ?? callId;
  /** How to answer is said once the turn waits for nothing else. */
  const waits = (what: string): void =>
    screen.line(`  ${styled(stderr, 'yellow', '?')} ${cut(oneLine(what), screen.columns - 5)}`);

  /** What a message of the model says beyond what has been shown of it: deltas may be missing. */
  function completed(callId: string, message: ChatMessage | undefined): void {
    if (message === undefined) return;
    for (const { kind } of message.parts) {
      if (kind.case === 'toolCall') argumentsOf.set(kind.value.callId, kind.value.arguments);
    }
    const whole = messageText(message);
    const shown = written.get(callId) ?? '';
    if (whole.startsWith(shown)) screen.text(harmless(whole.slice(shown.length)));
    else {
      screen.endText();
      screen.text(harmless(whole));
    }
    screen.endText();
  }

  return {
    event(event) {
      switch (event.kind) {
        case 'text':
          written.set(event.callId, (written.get(event.callId) ?? '') + event.text);
          screen.text(harmless(event.text));
          return;
        case 'reasoning':
          screen.status('  … thinks');
          return;
        case 'activity':
          change(event.callId, { activity: event.activity });
          // Where nothing is rewritten, what a long call does is told in lines.
          if (!stderr.isTTY) screen.line(`  … ${oneLine(nameOf(event.callId))}  ${oneLine(event.activity)}`);
          else showRunning();
          return;
        case 'turn.queued':
          screen.status('  … waits behind another turn of the session');
          return;
        case 'model.call.requested':
          for (const reason of event.data.toolsLeftOut) note(`left out: ${reason}`);
          screen.status(`  … asks ${cut(oneLine(event.data.model), screen.columns - 10)}`);
          return;
        case 'model.call.attempt_failed': {
          const { error, attempt, backoff } = event.data;
          note(retryText('the model call', attempt, error, backoff));
          return;
        }
        case 'model.call.finished':
          screen.clear();
          if (event.data.outcome.case === 'response')
            completed(event.data.callId, event.data.outcome.value.message);
          return;
        case 'message.recorded': {
          // Said in the model's place, by whoever decides for the agent.
          const { message, ofCallId } = event.data;
          if (ofCallId === '' && message?.role === Role.ASSISTANT) completed(message.id, message);
          return;
        }
        case 'tool.call.requested': {
          const { callId, name } = event.data;
          const args = event.data.arguments || argumentsOf.get(callId) || '';
          calls.set(callId, { name, arguments: args, since: event.occurredAt, activity: '' });
          running.add(callId);
          showRunning();
          return;
        }
        case 'tool.call.attempt_failed': {
          const { callId, error, attempt, backoff } = event.data;
          note(retryText(nameOf(callId), attempt, error, backoff));
          showRunning();
          return;
        }
        case 'tool.call.deferred':
          running.delete(event.data.callId);
          waits(`${nameOf(event.data.callId)} waits for an answer from outside`);
          showRunning();
          return;
        case 'tool.call.finished': {
          const { callId } = event.data;
          running.delete(callId);
          const call = calls.get(callId);
          if (call !== undefined) screen.line(callEndLine(call, event, screen.columns));
          showRunning();
          return;
        }
        case 'subagent.started':
          change(event.data.callId, { activity: `in session ${event.data.sessionId}` });
          showRunning();
          return;
        case 'interrupt.raised': {
          const { callId, reason } = event.data;
          running.delete(callId);
          screen.clear();
          if (asks) return;
          waits(`${callId === '' ? 'the turn' : nameOf(callId)} waits for a person: ${reason}`);
          return;
        }
        case 'interrupt.resumed':
          change(event.data.callId, { since: event.occurredAt });
          if (calls.has(event.data.callId)) running.add(event.data.callId);
          showRunning();
          return;
        case 'decision.refused':
          note(`a decision was refused: ${event.data.reason}`);
          return;
        case 'turn.ended':
        case 'paused':
          screen.clear();
          screen.endText();
          return;
        default:
          return;
      }
    },
  };
}

function retryText(
  what: string,
  attempt: number,
  error: { readonly code: string; readonly message: string } | undefined,
  backoff: { readonly seconds: bigint; readonly nanos: number } | undefined,
): string {
  const wait = backoff === undefined ? 0 : Number(backoff.seconds) * 1_000 + backoff.nanos / 1_000_000;
  return `↻ ${what}: attempt ${attempt} failed (${error?.code}: ${error?.message}); again in ${lengthOfTime(wait)}`;
}
