import type { AgentConfig } from '../../../gen/spindle/v1/agent_pb.ts';
import { ModelHandler } from '../../../gen/spindle/v1/agent_pb.ts';
import type { Caller } from '../../../gen/spindle/v1/call_pb.ts';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import type { StartTurnRequest } from '../../../gen/spindle/v1/session_service_pb.ts';
import type { TurnInput } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { StartTurn } from '../../core/command.ts';
import type { Conversation } from '../../core/loop/conversation.ts';
import { resultsIn } from '../../core/loop/messages.ts';
import { accepted, type Outcome, refused } from '../../core/refusal.ts';
import type { Session } from '../../core/session.ts';
import { readFailure, readResult } from '../answers.ts';
import type { Shared } from '../engine.ts';
import { idFault } from '../request.ts';
import type { Conversations } from './conversations.ts';
import { taskFault } from './decision-content.ts';
import { storeMessage } from './message-bytes.ts';
import { type Opening, send } from './opening.ts';
import { inputFault, withoutResults } from './turn-input.ts';

export interface TurnRequest {
  readonly request: StartTurnRequest;
  readonly traceContext: Readonly<Record<string, string>>;
}

export interface StartedTurn {
  readonly turnId: string;
  readonly queued: boolean;
  /** The same turn id had started it before, or the input went to the running turn. */
  readonly existing: boolean;
  /** The event before the turn's first; 0 while it is queued. */
  readonly turnAfterSequence: number;
  /** The event before what this request led to: from there, somebody who knows the turn goes on. */
  readonly afterSequence: number;
}

function turnOfResults({ turns }: Conversation, asked: string): string {
  return turns.has(asked) ? asked : ([...turns.keys()].at(-1) ?? '');
}

/** Starts turns, or returns those that the same turn ids started (6.14). */
export function createTurns(shared: Shared, opening: Pick<Opening, 'open'>): Conversations['startTurn'] {
  const { options, sessions, definitions } = shared;
  const { clock, random, schemas, blobs, models } = options;

  const settlements = async (
    session: Session,
    tenant: string,
    input: TurnInput,
  ): Promise<Outcome<StartTurn['settlements']>> => {
    if (input.kind.case !== 'messages') return accepted([]);
    const results = input.kind.value.messages.filter(({ role }) => role === Role.TOOL).flatMap(resultsIn);
    const settled: StartTurn['settlements'][number][] = [];
    for (const { callId, outcome } of results) {
      const call = session.calls.get(callId);
      if (outcome.case === 'error') {
        settled.push({ callId, answer: { kind: 'failure', failure: readFailure(outcome.value) } });
      } else if (outcome.case === 'result') {
        const definition = await definitions.load(tenant, call?.toolDigest ?? '');
        const answer = await readResult(outcome.value, { schemas, blobs, tenant, definition });
        if (answer.kind === 'unfit')
          return refused('invalid_request', `the result of ${callId}: ${answer.reason}`);
        settled.push({ callId, answer });
      }
    }
    return accepted(settled);
  };

  const stored = async (input: TurnInput | undefined, tenant: string): Promise<TurnInput | undefined> => {
    if (input?.kind.case !== 'messages') return input;
    const messages = await Promise.all(
      input.kind.value.messages.map((message) => storeMessage(message, tenant, blobs)),
    );
    return { ...input, kind: { case: 'messages', value: { ...input.kind.value, messages } } };
  };

  /** Why the turn's first model call could not be made; a turn that nobody can serve does not start. */
  const modelFault = (agent: AgentConfig | undefined): string | undefined => {
    if (agent === undefined || agent.modelHandler === ModelHandler.WORKER) return undefined;
    return models === undefined ? 'this engine has no model providers' : models.fault(agent.model);
  };

  return async (caller: Caller, { request, traceContext }) => {
    const { input, task } = request;
    const fault =
      (request.turnId === '' ? undefined : idFault('turn_id', request.turnId)) ??
      inputFault(schemas, input) ??
      (task && taskFault(schemas, task));
    if (fault !== undefined || input === undefined)
      return refused('invalid_request', fault ?? 'input is not set');
    if (shared.stopping !== undefined) return { ok: false, refusal: shared.stopping };
    const found = await opening.open(caller, request.sessionId);
    if (!found.ok) return found;
    const { runner, conversation } = found.value;
    try {
      const { tenant } = runner.key;
      const ends = await settlements(runner.session, tenant, input);
      if (!ends.ok) return ends;
      const rest = withoutResults(input);
      const noModel =
        rest === undefined || conversation.turns.has(request.turnId)
          ? undefined
          : modelFault(conversation.agent);
      if (noModel !== undefined) return refused('model_unavailable', noModel);
      // Results alone go to the running turn; when it has ended by then, to the one that they once went to.
      const running =
        runner.session.conversation?.turn?.turnId ?? turnOfResults(conversation, request.turnId);
      const turnId = rest === undefined ? running : request.turnId === '' ? random.token() : request.turnId;
      const afterSequence = runner.session.sequence;
      const message = await stored(rest, tenant);
      const isNew = rest !== undefined && runner.session.conversation?.turns.has(turnId) !== true;
      // A subagent's turn is part of its parent's, and was let in with it.
      const place = isNew && conversation.ancestry.length === 0 ? options.quotas?.begin(caller) : undefined;
      if (place?.ok === false) return place;
      const command = {
        kind: 'start_turn',
        at: clock.now(),
        turnId: rest === undefined ? `results of ${random.token()}` : turnId,
        input: message,
        task,
        queue: request.queue,
        origin: { caller, traceContext },
        settlements: ends.value,
      } as const;
      const done = await send(runner, command, place?.value);
      if (!done.ok) return done;
      const record = done.value.session.conversation?.turns.get(turnId);
      return accepted({
        turnId,
        queued: record?.queued ?? false,
        existing: rest === undefined || !done.value.changed,
        turnAfterSequence: record?.afterSequence ?? 0,
        // Where the input changed nothing, all that there is to hear has been.
        afterSequence: done.value.changed ? afterSequence : (record?.afterSequence ?? 0),
      });
    } finally {
      sessions.letGo(runner);
    }
  };
}
