import { SessionService } from '../../../gen/spindle/v1/session_service_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { ToolService } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { CallStopped } from '../context.ts';
import type { SdkClock } from '../ports.ts';
import { SpindleError } from '../spindle-error.ts';
import type { Tool } from '../tool.ts';
import type { Asking } from './asking.ts';
import { runClientTool } from './client-tool.ts';
import { type InterruptHandler, interruptOf, resumption } from './interrupt.ts';
import type { LogEvent } from './session-event.ts';
import type { TurnPlace } from './turn-result.ts';

/** What a client answers by itself while it runs a turn. */
export interface Answers {
  /** Starts to answer what an event opens, and stops where one closes it. */
  note(event: LogEvent): void;
  /** Nothing is being answered. */
  readonly idle: boolean;
  /** What went wrong: a handler that threw, or an answer that was refused. */
  readonly failure: { readonly error: unknown } | undefined;
  /** Stops what is being answered, and answers nothing more. */
  stop(): void;
}

export interface AnswersOptions {
  readonly place: TurnPlace;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly onInterrupt: InterruptHandler | undefined;
  readonly asking: Asking;
  readonly clock: SdkClock;
  /** Called when one has been answered, or cannot be. */
  readonly changed: () => void;
}

export function createAnswers(options: AnswersOptions): Answers {
  const { place, tools, onInterrupt, asking, clock, changed } = options;
  const { sessionId } = place;
  const answering = new Map<string, AbortController>();
  let failure: { readonly error: unknown } | undefined;
  let over = false;

  function begin(id: string, answer: (signal: AbortSignal) => Promise<void>): void {
    if (over || answering.has(id)) return;
    const controller = new AbortController();
    answering.set(id, controller);
    answer(controller.signal)
      .catch((error: unknown) => {
        // What has been answered elsewhere meanwhile, or stopped, needs no answer.
        if (!controller.signal.aborted && !isAnswered(error)) failure ??= { error };
      })
      .finally(() => {
        answering.delete(id);
        changed();
      });
  }

  function end(id: string): void {
    answering.get(id)?.abort(new CallStopped('cancelled', 0));
  }

  async function answerCall(
    event: Extract<LogEvent, { kind: 'tool.call.requested' }>,
    tool: Tool,
    signal: AbortSignal,
  ) {
    const { callId } = event.data;
    // The call as it stands: when a turn is followed anew, its events tell of calls that have ended.
    const { call } = await asking.ask(ToolService.method.getCall, { sessionId, callId }, signal);
    if (call === undefined || call.outcome.case !== undefined) return;
    const outcome = await runClientTool(tool, event.data, call, place, { signal, clock });
    if (outcome === undefined || signal.aborted) return;
    await asking.ask(ToolService.method.settleCall, { sessionId, callId, outcome }, signal);
  }

  async function answerInterrupt(
    { data }: Extract<LogEvent, { kind: 'interrupt.raised' }>,
    ask: InterruptHandler,
    signal: AbortSignal,
  ): Promise<void> {
    const { interruptId, reason } = data;
    const { session } = await asking.ask(SessionService.method.getSession, { sessionId }, signal);
    const item = session?.openItems.find(({ id }) => id === interruptId);
    if (item === undefined) return;
    const answer = await ask(interruptOf(item, reason, { ...place, signal }));
    if (answer === undefined || signal.aborted) return;
    const request = { sessionId, interruptId, ...resumption(answer) };
    await asking.ask(SessionService.method.resumeInterrupt, request, signal);
  }

  return {
    note(event) {
      switch (event.kind) {
        case 'tool.call.requested': {
          const tool = event.data.handler === ToolHandler.CLIENT ? tools.get(event.data.name) : undefined;
          if (tool?.handle !== undefined) {
            begin(event.data.callId, (signal) => answerCall(event, tool, signal));
          }
          return;
        }
        case 'interrupt.raised':
          if (onInterrupt !== undefined) {
            begin(`interrupt ${event.data.interruptId}`, (signal) =>
              answerInterrupt(event, onInterrupt, signal),
            );
          }
          return;
        case 'tool.call.finished':
          end(event.data.callId);
          return;
        case 'interrupt.resumed':
          end(`interrupt ${event.data.interruptId}`);
          return;
        default:
          return;
      }
    },
    get idle() {
      return answering.size === 0;
    },
    get failure() {
      return failure;
    },
    stop() {
      over = true;
      for (const id of answering.keys()) end(id);
    },
  };
}

/** Somebody else was first, or nobody waits for the answer any more. */
function isAnswered(error: unknown): boolean {
  return (
    error instanceof SpindleError && (error.code === 'FAILED_PRECONDITION' || error.code === 'NOT_FOUND')
  );
}
