import { createHash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import type { Caller } from '../../../gen/spindle/v1/call_pb.ts';
import type { SessionEvent, TurnEnded } from '../../../gen/spindle/v1/event_pb.ts';
import { type ChatMessage, Role, type Usage } from '../../../gen/spindle/v1/message_pb.ts';
import {
  ContentSchema,
  type Failure,
  type ToolResult,
  ToolResultSchema,
} from '../../../gen/spindle/v1/result_pb.ts';
import {
  CreateSessionRequestSchema,
  StartTurnRequestSchema,
} from '../../../gen/spindle/v1/session_service_pb.ts';
import { activityName } from '../../core/activity.ts';
import type { Call } from '../../core/call.ts';
import type { EndChild } from '../../core/command.ts';
import { failure } from '../../core/failure.ts';
import { textMessage } from '../../core/loop/messages.ts';
import { backoff } from '../../core/policy.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Session } from '../../core/session.ts';
import { memberText } from '../../schema/member.ts';
import type { Shared } from '../engine.ts';
import type { SessionRunner } from '../session-runner.ts';
import { traceContextFor } from '../trace-context.ts';

/** Child sessions of calls (6.10): started once, followed while their calls are open, cancelled with them. */
export interface Children {
  follow(runner: SessionRunner, call: Call, name: string): void;
  withdraw(runner: SessionRunner, name: string): void;
  drop(runner: SessionRunner): void;
  /** Stops sessions whose parents' calls ended without them, while nobody looked. Rejects with a JournalFault. */
  cancelOrphans(runners: readonly SessionRunner[]): Promise<void>;
}

interface Child {
  readonly sessionId: string;
  readonly turnId: string;
  readonly caller: Caller;
  stop: (() => void) | undefined;
  over: boolean;
}

/** The same for the same call, so that a start cannot happen twice. */
export function childIds(
  parent: string,
  callId: string,
): { readonly sessionId: string; readonly turnId: string } {
  const hash = createHash('sha256')
    .update(JSON.stringify([parent, callId]))
    .digest('base64url')
    .slice(0, 22);
  return { sessionId: `sub-${hash}`, turnId: `turn-${hash}` };
}

export function createChildren(shared: Shared): Children {
  const { clock, random, observer } = shared.options;
  const running = new Map<SessionRunner, Map<string, Child>>();

  const start = async (runner: SessionRunner, call: Call, child: Child, attempt: number): Promise<void> => {
    const { conversation } = runner.session;
    const planned = conversation?.turn?.plan.find(({ callId }) => callId === call.callId);
    if (conversation === undefined || planned === undefined) return;
    const { conversations } = shared;
    const { sessionId, turnId, caller } = child;
    const ancestry = [runner.key.sessionId, ...conversation.ancestry];
    const agent = planned.spawn?.agent;
    const created = await conversations.create(
      caller,
      create(CreateSessionRequestSchema, { sessionId, agentId: call.name, ...(agent && { agent }) }),
      ancestry,
    );
    if (!created.ok) return again(runner, call, child, attempt, created.refusal);
    runner.send(
      { kind: 'start_child', at: clock.now(), callId: call.callId, sessionId, agentId: call.name },
      () => undefined,
    );
    const message = planned.spawn?.message ?? textMessage(Role.USER, messageText(call.arguments));
    const turn = await conversations.startTurn(caller, {
      request: create(StartTurnRequestSchema, {
        sessionId,
        turnId,
        input: { kind: { case: 'messages', value: { messages: [message] } } },
      }),
      // The child's turn is part of the call that it answers (8.1).
      traceContext: traceContextFor(
        { recorder: shared.options.recorder, key: runner.key, session: runner.session },
        activityName.call(call.callId),
      ),
    });
    if (!turn.ok) return again(runner, call, child, attempt, turn.refusal);
    await watch(runner, call, child, turn.value.turnAfterSequence);
  };

  /** Follows the child's log until its turn has ended; the answer is a message of it. */
  const watch = async (runner: SessionRunner, call: Call, child: Child, after: number): Promise<void> => {
    const { sessionId, turnId, caller } = child;
    const followed = await shared.conversations.follow(caller, sessionId, after, {
      events(events, session) {
        const ended = endOf(events, turnId);
        if (ended !== undefined) finish(runner, call, child, ended, session);
      },
      delta: () => undefined,
      lost(refusal) {
        if (!child.over && refusal.reason !== 'shutting_down') again(runner, call, child, 1, refusal);
      },
    });
    if (!followed.ok) {
      again(runner, call, child, 1, followed.refusal);
      return;
    }
    child.stop = followed.value;
    if (child.over) followed.value();
  };

  const finish = (
    runner: SessionRunner,
    call: Call,
    child: Child,
    ended: TurnEnded,
    session: Session,
  ): void => {
    if (child.over) return;
    child.over = true;
    // The follower may not leave while it is being told.
    queueMicrotask(() => child.stop?.());
    end(runner, call, outcomeOf(ended, session), session.conversation?.turns.get(child.turnId)?.usage);
  };

  const end = (
    runner: SessionRunner,
    { callId }: Call,
    outcome: EndChild['outcome'],
    usage: Usage | undefined,
  ): void => runner.send({ kind: 'end_child', at: clock.now(), callId, outcome, usage }, () => undefined);

  /** A start that failed for now is tried again, as often as its policy says (4.1). */
  const again = (
    runner: SessionRunner,
    call: Call,
    child: Child,
    attempt: number,
    refusal: Refusal,
  ): void => {
    const passes = refusal.reason === 'overloaded' || refusal.reason === 'session_moved';
    if (child.over || shared.stopping !== undefined) return;
    if (!passes || attempt >= call.policy.maxAttempts) {
      child.over = true;
      end(
        runner,
        call,
        { error: failure('refused', `The agent ${call.name} did not start: ${refusal.message}`) },
        undefined,
      );
      return;
    }
    clock.alarm(clock.now() + backoff(call.policy, attempt, random.draw(), 0), () =>
      begin(runner, call, child, attempt + 1),
    );
  };

  const begin = (runner: SessionRunner, call: Call, child: Child, attempt: number): void => {
    if (child.over) return;
    start(runner, call, child, attempt).catch((error: unknown) => {
      observer.report('error', 'subagent_failed', { error: String(error) });
      child.over = true;
      end(
        runner,
        call,
        { error: failure('internal', `The agent ${call.name} could not be started.`) },
        undefined,
      );
    });
  };

  const remove = (runner: SessionRunner, name: string): Child | undefined => {
    const children = running.get(runner);
    const child = children?.get(name);
    children?.delete(name);
    if (children?.size === 0) running.delete(runner);
    return child;
  };

  return {
    follow(runner, call, name) {
      const caller = call.caller ?? runner.session.conversation?.turn?.origin.caller;
      if (caller === undefined) return;
      const child: Child = {
        ...childIds(runner.key.sessionId, call.callId),
        caller,
        stop: undefined,
        over: false,
      };
      running.set(runner, (running.get(runner) ?? new Map<string, Child>()).set(name, child));
      begin(runner, call, child, 1);
    },
    withdraw(runner, name) {
      const child = remove(runner, name);
      if (child === undefined || child.over) return;
      child.over = true;
      child.stop?.();
      // Its call has ended without it.
      const { caller, sessionId, turnId } = child;
      shared.conversations
        .cancelTurn(caller, sessionId, turnId, ORPHANED)
        .catch((error: unknown) =>
          observer.report('error', 'subagent_not_cancelled', { session_id: sessionId, error: String(error) }),
        );
    },
    drop(runner) {
      for (const child of running.get(runner)?.values() ?? []) {
        child.over = true;
        child.stop?.();
      }
      running.delete(runner);
    },
    async cancelOrphans(runners) {
      for (const runner of runners) {
        const { turn, ancestry } = runner.session.conversation ?? {};
        const [parentId] = ancestry ?? [];
        const caller = turn?.origin.caller;
        if (turn === undefined || parentId === undefined || caller === undefined) continue;
        const { tenant, sessionId } = runner.key;
        const parent = await shared.sessions.read({ tenant, sessionId: parentId });
        const isWanted = [...(parent?.calls.values() ?? [])].some(
          ({ callId, phase }) => phase.kind === 'open' && childIds(parentId, callId).sessionId === sessionId,
        );
        if (isWanted) continue;
        await shared.conversations.cancelTurn(caller, sessionId, turn.turnId, ORPHANED);
      }
    },
  };
}

const ORPHANED = 'the call that started it has ended';

function messageText(argumentsJson: string): string {
  const text: unknown = JSON.parse(memberText(argumentsJson, 'message') ?? '""');
  return typeof text === 'string' ? text : JSON.stringify(text);
}

function endOf(events: readonly SessionEvent[], turnId: string): TurnEnded | undefined {
  for (const event of events)
    if (event.kind.case === 'turnEnded' && event.turnId === turnId) return event.kind.value;
  return undefined;
}

function outcomeOf(
  { outcome }: TurnEnded,
  { conversation }: Session,
): { result: ToolResult } | { error: Failure } {
  switch (outcome.case) {
    case 'failed':
      return { error: outcome.value };
    case 'finished': {
      const { outputJson, answer } = outcome.value;
      const message = conversation?.messages.findLast(({ id }) => id === answer?.id);
      return { result: resultOf(message, outputJson) };
    }
    default:
      return { error: failure('cancelled', 'The agent was stopped.') };
  }
}

function resultOf(answer: ChatMessage | undefined, outputJson: string): ToolResult {
  if (outputJson !== '') {
    const content = [create(ContentSchema, { kind: { case: 'text', value: { text: outputJson } } })];
    return create(ToolResultSchema, { structuredJson: outputJson, content });
  }
  const said = answer?.parts.flatMap(({ kind }) => (kind.case === 'content' ? [kind.value] : [])) ?? [];
  const nothing = create(ContentSchema, { kind: { case: 'text', value: { text: '' } } });
  return create(ToolResultSchema, { content: said.length > 0 ? said : [nothing] });
}
