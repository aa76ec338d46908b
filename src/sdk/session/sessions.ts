import type { TurnEnded } from '../../../gen/spindle/v1/event_pb.ts';
import type { ChatMessage } from '../../../gen/spindle/v1/message_pb.ts';
import {
  type CreateSessionRequest,
  type Session,
  SessionService,
} from '../../../gen/spindle/v1/session_service_pb.ts';
import type { JsonValue } from '../json.ts';
import { refuseUnknown } from '../known-members.ts';
import type { TaskOptions, TaskOutput } from '../task.ts';
import { flatten } from '../toolchain.ts';
import { follow, type Source } from './follow.ts';
import { type InterruptAnswer, resumption } from './interrupt.ts';
import { type RunTurnPorts, runTurn, type TurnEnd } from './run-turn.ts';
import type { SessionUpdateEvent, TurnEvent } from './session-event.ts';
import {
  type AgentReference,
  CREATE_MEMBERS,
  type CreateSessionOptions,
  RUN_MEMBERS,
  RUN_TURN_MEMBERS,
  type RunOptions,
  type RunTurnOptions,
  type SessionState,
  START_MEMBERS,
  type StartedTurn,
  type TurnState,
  type WatchOptions,
} from './session-options.ts';
import { type StartTurnOptions, type TurnInput, turnRequest } from './turn-input.ts';
import { pausedResult, type TurnPlace, type TurnResult, turnResultOf } from './turn-result.ts';

/**
 * Conversations with agents. Whatever is refused or does not get through is thrown as a SpindleError; how a turn
 * ended, also by a failure, is a TurnResult.
 */
export interface Sessions {
  create(agent: AgentReference, options?: CreateSessionOptions): Promise<Session>;
  get(sessionId: string, options?: { readonly messages?: boolean }): Promise<SessionState>;
  /** The caller's sessions, newest first, page by page as they are read. */
  list(options?: { readonly onlyWaiting?: boolean }): AsyncIterableIterator<Session>;
  /** Starts a turn and returns at once. */
  startTurn(sessionId: string, input: TurnInput, options?: StartTurnOptions): Promise<StartedTurn>;
  /**
   * Runs a turn and gives what happens in it, up to `turn.ended` or `paused`; it starts when the iteration begins.
   * A broken connection repeats no event and leaves none out; deltas may be missing then. Ending the iteration ends
   * the wait, never the turn.
   */
  runTurn(sessionId: string, input: TurnInput, options?: RunTurnOptions): AsyncIterableIterator<TurnEvent>;
  /**
   * Runs one turn with an agent, in a new session or in the one that is named, and gives how it ended. With a task,
   * of the options or of the agent, the output has its type.
   */
  run<Task extends TaskOptions>(
    agent: AgentReference,
    input: TurnInput,
    options: RunOptions<Task> & { readonly task: Task },
  ): Promise<TurnResult<TaskOutput<Task>>>;
  run<Output>(
    agent: AgentReference<Output>,
    input: TurnInput,
    options?: RunOptions<undefined>,
  ): Promise<TurnResult<Output>>;
  /** What happens to a session, for ever: events from a cursor on, across broken connections. */
  watch(sessionId: string, options?: WatchOptions): AsyncIterableIterator<SessionUpdateEvent>;
  getTurn(sessionId: string, turnId: string, options?: { readonly task?: TaskOptions }): Promise<TurnState>;
  /** Answers an interrupt. False where it had been answered before, and nothing happened. */
  resume(sessionId: string, interruptId: string, answer: InterruptAnswer): Promise<boolean>;
  /** Stops a turn, the running one where none is named. The id of the turn; undefined where none was running. */
  cancel(
    sessionId: string,
    options?: { readonly turnId?: string; readonly reason?: string },
  ): Promise<string | undefined>;
  /** Deletes a session that runs no turn, with its log. */
  delete(sessionId: string): Promise<void>;
}

export interface SessionsPorts extends RunTurnPorts {
  readonly newId: () => string;
  /** Aborted when the client is closed. */
  readonly closed: AbortSignal;
}

export function createSessions(ports: SessionsPorts): Sessions {
  const { requests, asking, newId, closed } = ports;
  const { method } = SessionService;
  const until = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? closed : AbortSignal.any([closed, signal]);

  async function create(agent: AgentReference, options: CreateSessionOptions): Promise<Session> {
    const { sessionId, config, metadata } = options;
    const request: Omit<CreateSessionRequest, '$typeName'> = {
      agentId: typeof agent === 'string' ? agent : agent.id,
      // With an id the request is safe to repeat, whatever became of the first one.
      sessionId: sessionId === undefined || sessionId === '' ? newId() : sessionId,
      metadata: { ...metadata },
      ...(config === undefined ? {} : { agent: config }),
    };
    return required((await asking.ask(method.createSession, request, closed)).session);
  }

  function turn(
    sessionId: string,
    input: TurnInput,
    options: RunTurnOptions,
  ): AsyncGenerator<TurnEvent, TurnEnd, undefined> & TurnPlace {
    const { clientTools = [], onInterrupt, signal, task, ...start } = options;
    const tools = new Map(flatten(clientTools, 'the client tools').map((tool) => [tool.name, tool]));
    const ends = task === undefined ? {} : { task };
    const request = turnRequest(sessionId, input, { ...start, ...ends, clientTools }, newId);
    const events = runTurn({ ...request, sessionId }, { tools, onInterrupt, signal: until(signal) }, ports);
    return Object.assign(events, { sessionId, turnId: request.turnId });
  }

  /** The result of a turn that has ended. Its last message may be older than what was seen of it. */
  async function resultOf(
    place: TurnPlace,
    ended: TurnEnded,
    seen: ChatMessage | undefined,
    task: TaskOptions | undefined,
  ): Promise<TurnResult> {
    const answerId = ended.outcome.case === 'finished' ? (ended.outcome.value.answer?.id ?? '') : '';
    let answer = seen;
    if (answer === undefined && answerId !== '') {
      const request = { sessionId: place.sessionId, includeMessages: true };
      const { messages } = await asking.ask(method.getSession, request, closed);
      answer = messages.find(({ id }) => id === answerId);
    }
    return turnResultOf(place, ended, answer, task);
  }

  const sessions = {
    async create(agent: AgentReference, options: CreateSessionOptions = {}) {
      refuseUnknown(options, CREATE_MEMBERS, 'sessions.create');
      return create(agent, options);
    },
    async get(
      sessionId: string,
      { messages: includeMessages = false }: { readonly messages?: boolean } = {},
    ) {
      const got = await asking.ask(method.getSession, { sessionId, includeMessages }, closed);
      const state: JsonValue | undefined = got.stateJson === '' ? undefined : JSON.parse(got.stateJson);
      return { session: required(got.session), messages: got.messages, state };
    },
    async *list({ onlyWaiting = false }: { readonly onlyWaiting?: boolean } = {}) {
      let pageToken = '';
      do {
        const page = await asking.ask(method.listSessions, { onlyWaiting, pageToken }, closed);
        yield* page.sessions;
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
    },
    async startTurn(sessionId: string, input: TurnInput, options: StartTurnOptions = {}) {
      refuseUnknown(options, START_MEMBERS, 'sessions.startTurn');
      const request = turnRequest(sessionId, input, options, newId);
      const { turnId, queued, existing, turnAfterSequence } = await asking.ask(
        method.startTurn,
        request,
        closed,
      );
      return { sessionId, turnId, queued, existing, afterSequence: turnAfterSequence };
    },
    async *runTurn(sessionId: string, input: TurnInput, options: RunTurnOptions = {}) {
      refuseUnknown(options, RUN_TURN_MEMBERS, 'sessions.runTurn');
      yield* turn(sessionId, input, options);
    },
    async run(agent: AgentReference, input: TurnInput, options: RunOptions = {}): Promise<TurnResult> {
      refuseUnknown(options, RUN_MEMBERS, 'sessions.run');
      const { sessionId, config, metadata, onEvent, ...rest } = options;
      const ids = sessionId === undefined ? {} : { sessionId };
      const made = await create(agent, {
        ...ids,
        ...(config === undefined ? {} : { config }),
        ...(metadata === undefined ? {} : { metadata }),
      });
      const running = turn(made.sessionId, input, rest);
      const place = { sessionId: running.sessionId, turnId: running.turnId };
      for (;;) {
        const step = await running.next();
        if (step.done !== true) {
          onEvent?.(step.value);
          continue;
        }
        const end = step.value;
        if (end.kind === 'paused') return pausedResult(place, end.openItems);
        const task = rest.task ?? (typeof agent === 'string' ? undefined : agent.task);
        return resultOf(place, end.ended, end.answer, task);
      }
    },
    async *watch(sessionId: string, { afterSequence = 0, deltas = false, signal }: WatchOptions = {}) {
      const stop = until(signal);
      const source: Source = {
        open: (after) =>
          requests.stream(
            method.watchSession,
            { sessionId, afterSequence: after ?? afterSequence, includeDeltas: deltas },
            stop,
          ),
      };
      for await (const { event } of follow(source, ports, stop, afterSequence)) {
        if (event !== undefined) yield event;
      }
    },
    async getTurn(sessionId: string, turnId: string, { task }: { readonly task?: TaskOptions } = {}) {
      const got = await asking.ask(method.getTurn, { sessionId, turnId }, closed);
      const place = { sessionId, turnId };
      const { queued, turnAfterSequence: afterSequence, ended } = got;
      const said = ended?.outcome.case === 'finished' ? ended.outcome.value.answer : undefined;
      // Where the engine sends the message whole there is nothing to look up.
      const whole = said === undefined || said.parts.length === 0 ? undefined : said;
      const result = ended === undefined ? undefined : await resultOf(place, ended, whole, task);
      return { ...place, queued, afterSequence, result };
    },
    async resume(sessionId: string, interruptId: string, answer: InterruptAnswer) {
      const request = { sessionId, interruptId, ...resumption(answer) };
      return !(await asking.ask(method.resumeInterrupt, request, closed)).alreadyResumed;
    },
    async cancel(
      sessionId: string,
      { turnId = '', reason = '' }: { readonly turnId?: string; readonly reason?: string } = {},
    ) {
      const cancelled = await asking.ask(method.cancelTurn, { sessionId, turnId, reason }, closed);
      return cancelled.turnId === '' ? undefined : cancelled.turnId;
    },
    async delete(sessionId: string) {
      // Not sent again by itself: a second one would say that there is no such session.
      await requests.unary(method.deleteSession, { sessionId });
    },
  };
  // The overloads of `run` say what it does with the types of a task.
  return sessions as Sessions;
}

/** The contract has the engine set it; only an engine that breaks the contract does not. */
function required(session: Session | undefined): Session {
  if (session === undefined)
    throw new Error('the engine answered without the session: it breaks the contract');
  return session;
}
