import type { Call } from '../../../gen/spindle/v1/call_pb.ts';
import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import type { Tool as ToolMessage } from '../../../gen/spindle/v1/tool_pb.ts';
import { type ServedTool, ToolService } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { CLIENT_UNAVAILABLE_MS, MAX_CLIENT_CALLS, MAX_PAGE_SIZE } from '../../core/limits.ts';
import type { Millis } from '../../core/time.ts';
import type { ConnectOptions } from '../grpc/connect-options.ts';
import { createRequests } from '../grpc/requests.ts';
import { openDuplex } from '../grpc/stream.ts';
import { type Members, refuseUnknown } from '../known-members.ts';
import { processClock, processRandom, processSoon } from '../process-ports.ts';
import { toToolResult } from '../result.ts';
import { createAsking } from '../session/asking.ts';
import { createSessions, type Sessions } from '../session/sessions.ts';
import { clientClosed } from '../spindle-error.ts';
import { failureOf } from '../tool-error.ts';
import { type CallEvent, callEventOf } from './call-event.ts';
import { createCallLane } from './call-lane.ts';
import {
  type AnyArguments,
  type CallOptions,
  callRequest,
  type RawArguments,
  type ToolReference,
  type WaitOptions,
} from './call-request.ts';
import type { CallResult } from './call-result.ts';
import { waitForEnd, waitForEvents } from './wait.ts';

export interface ClientOptions extends ConnectOptions {
  /** How long the engine may be out of reach before what waits for it fails. 15 s where it is not given. */
  readonly unavailableAfterMs?: Millis;
  /** The most calls that it waits for at once. 10,000 where it is not given. */
  readonly maxInFlight?: number;
}

/** Which call, where a session made it; a direct call needs its id alone. */
export interface CallAddress {
  readonly sessionId?: string;
}

export interface ListOptions {
  /** Only calls of this tool. */
  readonly name?: string;
  /** Only calls that have not ended. */
  readonly onlyUnfinished?: boolean;
}

export interface EventsOptions {
  /** Only events behind this sequence. */
  readonly afterSequence?: number;
  /** End with the newest event that is there. */
  readonly recordedOnly?: boolean;
}

/** How a call is settled from outside: with what its tool would have returned, or with a failure (4.9). */
export type Settlement = { readonly result: unknown } | { readonly error: unknown };

export interface SettleOptions extends CallAddress {
  /** Refuse unless this is the attempt in force. */
  readonly attempt?: number;
}

/** What became of a settlement (AnswerVerdict). */
export type Verdict = 'recorded' | 'duplicate' | 'stale' | 'refused';

/**
 * Calls tools. Whatever is refused or does not get through is thrown as a SpindleError; how a call ended,
 * also by a failure of its tool, is a CallResult.
 */
export interface Client extends AsyncDisposable {
  /** Calls a tool and waits for its end. Safe against broken connections: the call is made once (4.12). */
  call<Input, Output>(
    tool: ToolReference<Input, Output>,
    args: Input | RawArguments,
    options?: WaitOptions,
  ): Promise<CallResult<Output>>;
  call(name: string, args?: AnyArguments, options?: WaitOptions): Promise<CallResult>;
  /** Calls a tool and gives what happens to it, up to `finished`. The call is made when the iteration begins. */
  stream<Input, Output>(
    tool: ToolReference<Input, Output>,
    args: Input | RawArguments,
    options?: WaitOptions,
  ): AsyncIterableIterator<CallEvent<Output>>;
  stream(name: string, args?: AnyArguments, options?: WaitOptions): AsyncIterableIterator<CallEvent>;
  /** Records a call and answers at once. */
  start(tool: string | ToolReference, args?: unknown, options?: CallOptions): Promise<Call>;
  get(callId: string, address?: CallAddress): Promise<Call>;
  /** The caller's direct calls, newest first, page by page as they are read. */
  list(options?: ListOptions): AsyncIterableIterator<Call>;
  /** What happens to a call until its end. The first event is the newest so far. */
  watch(callId: string, address?: CallAddress): AsyncIterableIterator<CallEvent>;
  /**
   * The events of a session, or of a direct call (`call:` and its id), from its log: those that are there, then those
   * that come.
   */
  events(sessionId: string, options?: EventsOptions): AsyncIterableIterator<SessionEvent>;
  /** Ends a dispatched or open call: the answer to one that was deferred, or that a client runs (4.9). */
  settle(callId: string, settlement: Settlement, options?: SettleOptions): Promise<Verdict>;
  /** Stops a call (4.10). The call as it then stands. */
  cancel(callId: string, options?: CallAddress & { readonly reason?: string }): Promise<Call>;
  /** The tools on offer, by globs over their names. */
  tools(names?: readonly string[]): Promise<ServedTool[]>;
  /** Finds tools by what they do, best first. */
  search(
    query: string,
    options?: { readonly maxMatches?: number },
  ): Promise<{ readonly tools: readonly ToolMessage[]; readonly leftOut: number }>;
  /** Conversations with agents. */
  readonly sessions: Sessions;
  /** The bytes of a blob reference, in order. */
  readBlob(uri: string): AsyncIterableIterator<Uint8Array>;
  /** Ends every wait, no call, and the connections. */
  close(): Promise<void>;
}

const MEMBERS: Members<ClientOptions> = {
  address: true,
  tls: true,
  token: true,
  unavailableAfterMs: true,
  maxInFlight: true,
};

/**
 * Makes a client. It connects with the first request.
 *
 *     await using client = createClient();
 *     const answer = await client.call('weather', { city: 'Tokyo' });
 *     console.log(answer.ok ? answer.text : answer.error.message);
 */
export function createClient(options: ClientOptions = {}): Client {
  refuseUnknown(options, MEMBERS, 'createClient');
  const unavailableAfterMs = options.unavailableAfterMs ?? CLIENT_UNAVAILABLE_MS;
  const clock = processClock;
  const lane = createCallLane(
    { maxInFlight: options.maxInFlight ?? MAX_CLIENT_CALLS, unavailableAfterMs },
    {
      clock,
      random: processRandom,
      soon: processSoon,
      connect: (listener) => openDuplex(ToolService.method.streamCalls, options, listener),
    },
  );
  const requests = createRequests({ ...options, timeoutMs: unavailableAfterMs });
  const ports = { lane, clock };
  const { method } = ToolService;

  const closed = new AbortController();
  const patience = { clock, random: processRandom, unavailableAfterMs };
  const sessions = createSessions({
    ...patience,
    requests,
    asking: createAsking(requests, patience),
    newId: processRandom.token,
    closed: closed.signal,
  });

  const client = {
    sessions,
    async call(tool: string | ToolReference, args?: unknown, wait: WaitOptions = {}) {
      const request = callRequest(tool, args, wait, processRandom.token, false);
      wait.signal?.throwIfAborted();
      return await waitForEnd(request, wait, ports);
    },
    async *stream(tool: string | ToolReference, args?: unknown, wait: WaitOptions = {}) {
      const request = callRequest(tool, args, wait, processRandom.token, true);
      wait.signal?.throwIfAborted();
      yield* waitForEvents(request, wait, ports);
    },
    async start(tool: string | ToolReference, args?: unknown, how: CallOptions = {}) {
      const call = callRequest(tool, args, how, processRandom.token, false);
      return required((await requests.unary(method.startCall, { call })).call);
    },
    async get(callId: string, address: CallAddress = {}) {
      return required((await requests.unary(method.getCall, { ...address, callId })).call);
    },
    async *list(which: ListOptions = {}) {
      let pageToken = '';
      do {
        const page = await requests.unary(method.listCalls, { ...which, pageToken });
        yield* page.calls;
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
    },
    async *watch(callId: string, address: CallAddress = {}) {
      for await (const { update } of requests.stream(method.watchCall, { ...address, callId })) {
        const event = update === undefined ? undefined : callEventOf(update);
        if (event !== undefined) yield event;
      }
    },
    async *events(sessionId: string, how: EventsOptions = {}) {
      // Loaded only here: most clients call tools and watch no sessions.
      const { SessionService } = await import('../../../gen/spindle/v1/session_service_pb.ts');
      const watching = requests.stream(SessionService.method.watchSession, { ...how, sessionId });
      for await (const { update } of watching) if (update?.kind.case === 'event') yield update.kind.value;
    },
    async settle(callId: string, settlement: Settlement, how: SettleOptions = {}) {
      // As a structured value as well: a string that happens to be JSON stays the string that it is (3.2).
      const outcome =
        'result' in settlement
          ? ({ case: 'result', value: toToolResult(settlement.result, { structured: true }) } as const)
          : ({ case: 'error', value: failureOf(settlement.error) } as const);
      const { verdict } = await requests.unary(method.settleCall, { ...how, callId, outcome });
      return verdictOf(verdict);
    },
    async cancel(callId: string, how: CallAddress & { readonly reason?: string } = {}) {
      return required((await requests.unary(method.cancelCall, { ...how, callId })).call);
    },
    async tools(names: readonly string[] = []) {
      const tools: ServedTool[] = [];
      let pageToken = '';
      do {
        const request = { names: [...names], pageSize: MAX_PAGE_SIZE, pageToken };
        const page = await requests.unary(method.listTools, request);
        tools.push(...page.tools);
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      return tools;
    },
    async search(query: string, how: { readonly maxMatches?: number } = {}) {
      const { tools, leftOut } = await requests.unary(method.searchTools, { ...how, query });
      return { tools, leftOut };
    },
    async *readBlob(uri: string) {
      for await (const { data } of requests.stream(method.readBlob, { uri })) yield data;
    },
    async close() {
      closed.abort(clientClosed());
      lane.close();
      requests.close();
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
  // The overloads say what the methods do with the types of a defined tool.
  return client as Client;
}

/** The contract has the engine set it; only an engine that breaks the contract does not. */
function required(call: Call | undefined): Call {
  if (call === undefined) throw new Error('the engine answered without the call: it breaks the contract');
  return call;
}

function verdictOf(verdict: AnswerVerdict): Verdict {
  switch (verdict) {
    case AnswerVerdict.RECORDED:
      return 'recorded';
    case AnswerVerdict.DUPLICATE:
      return 'duplicate';
    case AnswerVerdict.REFUSED:
      return 'refused';
    default:
      return 'stale';
  }
}
