import type { ChatMessage } from '../../../gen/spindle/v1/message_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import type { LogEvent } from './session-event.ts';

/** Where a turn stands, as far as its events tell. */
export interface TurnStanding {
  note(event: LogEvent): void;
  /** A model call or tool call of the turn: a delta of another one belongs to another turn. */
  knows(callId: string): boolean;
  /**
   * It waits for somebody, and nothing of it runs. Between two events of one step this may say so too early; the
   * session itself knows.
   */
  readonly seemsPaused: boolean;
  /** A message that the turn recorded. */
  message(id: string): ChatMessage | undefined;
}

export function createTurnStanding(): TurnStanding {
  const calls = new Set<string>();
  const running = new Set<string>();
  const waiting = new Set<string>();
  /** Responses by their model calls: the event of a message only names it (7.5). */
  const responses = new Map<string, ChatMessage>();
  const messages = new Map<string, ChatMessage>();

  const run = (key: string): void => {
    waiting.delete(key);
    running.add(key);
  };
  const wait = (key: string): void => {
    running.delete(key);
    waiting.add(key);
  };
  const end = (key: string): void => {
    running.delete(key);
    waiting.delete(key);
  };

  return {
    note(event) {
      switch (event.kind) {
        case 'decision.requested':
          run(`decision ${event.data.decisionId}`);
          return;
        case 'decision.recorded':
          end(`decision ${event.data.decisionId}`);
          return;
        case 'model.call.requested':
          calls.add(event.data.callId);
          run(event.data.callId);
          return;
        case 'model.call.finished': {
          const { callId, outcome } = event.data;
          end(callId);
          if (outcome.case === 'response' && outcome.value.message !== undefined) {
            responses.set(callId, outcome.value.message);
          }
          return;
        }
        case 'tool.call.requested': {
          const { callId, handler } = event.data;
          calls.add(callId);
          if (handler === ToolHandler.CLIENT) wait(callId);
          else run(callId);
          return;
        }
        case 'tool.call.dispatched':
        case 'tool.call.requeued':
          run(event.data.callId);
          return;
        case 'tool.call.deferred':
          wait(event.data.callId);
          return;
        case 'tool.call.finished':
          end(event.data.callId);
          return;
        case 'interrupt.raised':
          wait(`interrupt ${event.data.interruptId}`);
          if (event.data.callId !== '') running.delete(event.data.callId);
          return;
        case 'interrupt.resumed':
          end(`interrupt ${event.data.interruptId}`);
          if (event.data.callId !== '') run(event.data.callId);
          return;
        case 'message.recorded': {
          const { message, ofCallId } = event.data;
          const said = ofCallId === '' ? message : responses.get(ofCallId);
          if (message !== undefined && said !== undefined) messages.set(message.id, said);
          return;
        }
        default:
          return;
      }
    },
    knows: (callId) => calls.has(callId),
    get seemsPaused() {
      return waiting.size > 0 && running.size === 0;
    },
    message: (id) => messages.get(id),
  };
}
