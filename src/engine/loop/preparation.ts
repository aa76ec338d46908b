import { create } from '@bufbuild/protobuf';
import type { AgentConfig } from '../../../gen/spindle/v1/agent_pb.ts';
import { ContentSchema, ToolResultSchema } from '../../../gen/spindle/v1/result_pb.ts';
import { ExecutionMode, ToolHandler, ToolInputSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import type { PreparedCall } from '../../core/command.ts';
import { failure } from '../../core/failure.ts';
import type { PlannedCall, Turn } from '../../core/loop/conversation.ts';
import { argumentsIn } from '../../core/loop/messages.ts';
import { CALL_TOOL, SUBMIT_RESULT, TOOL_SEARCH } from '../../core/loop/reserved.ts';
import { mayUse } from '../../core/loop/turn-rights.ts';
import { nearestNames } from '../../core/nearest-names.ts';
import { isSafeToRepeat } from '../../core/policy.ts';
import type { Definition } from '../../schema/definition.ts';
import { memberText } from '../../schema/member.ts';
import { inputFailure } from '../dispatch.ts';
import type { Shared } from '../engine.ts';
import { hasNoRoom } from '../journal-fault.ts';
import { checkInput, placementOf, tooLarge } from '../placement.ts';
import { unknownTool } from '../request.ts';
import type { SessionRunner } from '../session-runner.ts';
import { requiresValidInput } from '../terms.ts';
import { approval, wantsApproval } from './approval.ts';
import { type ArgumentTerms, argumentTerms } from './argument-terms.ts';
import type { ToolBox } from './assembly.ts';
import { bare, barred } from './bare-call.ts';
import { callPolicy } from './call-policy.ts';
import type { Iterations } from './iterations.ts';
import { subagentFault } from './subagent-fault.ts';
import { toolSearch } from './tool-search.ts';

/** A call on its way to its request. */
interface Draft {
  readonly planned: PlannedCall;
  /** As the model wrote them. */
  readonly text: string;
  readonly terms: ArgumentTerms;
}

/** Finds the tool of each call that a decision started, and checks its arguments (4.11, 6.7, 6.8). */
export function createPreparation(
  shared: Shared,
  iterations: Iterations,
): (runner: SessionRunner, planned: readonly PlannedCall[], name: string) => void {
  const { options, definitions, refuse } = shared;
  const { schemas, clock, workers, observer, policies } = options;

  /** Undefined where tools that a call may need have not come back after a start of the engine. */
  const prepare = async (
    runner: SessionRunner,
    planned: readonly PlannedCall[],
    waits: (box: ToolBox) => boolean,
  ): Promise<PreparedCall[] | undefined> => {
    const { conversation } = runner.session;
    const turn = conversation?.turn;
    if (conversation === undefined || turn === undefined) return [];
    const box = await iterations.toolBox(runner);
    const privileged = options.privilegedAgents?.has(conversation.agentId) ?? false;
    const offered = (await iterations.offered(runner.key.tenant, turn.toolSetDigest)).filter(({ tool }) =>
      // The engine may have been started anew with fewer privileges since.
      mayUse(turn, tool, privileged),
    );
    const isOffered = new Map(offered.map(({ tool }) => [tool.name, tool.handler !== ToolHandler.ENGINE]));
    if (planned.some(({ name, spawn }) => spawn === undefined && isOffered.get(name) !== true) && waits(box))
      return undefined;
    const known = new Map<string, Definition>();
    // What the model has seen comes first: a tool that changed since is called as it was offered (5.11 checks again).
    for (const definition of [...offered, ...box.own, ...box.tools.map((tool) => tool.definition)]) {
      if (!known.has(definition.tool.name)) known.set(definition.tool.name, definition);
    }
    const drafts = planned.map(
      (call): Draft => ({
        planned: call,
        text: argumentsIn(conversation.messages, call.messageId, call.callId),
        terms: argumentTerms(runner.session, call),
      }),
    );
    const context: Context = {
      runner,
      agent: conversation.agent,
      depth: conversation.ancestry.length,
      turn,
      known,
      box,
      only: isRestricted(turn) ? new Set(offered.map(({ tool }) => tool.name)) : undefined,
    };
    const prepared = drafts.map((draft) => one(draft, context));
    const used = prepared.flatMap(
      ({ toolDigest }) => [...known.values()].find(({ digest }) => digest === toolDigest) ?? [],
    );
    await definitions.store(runner.key.tenant, used);
    // One that runs alone would only hold a slot while it waits for its turn.
    return prepared.some(({ sequential }) => sequential)
      ? prepared
      : prepared.map((call) => placed(call, context));
  };

  const one = (draft: Draft, context: Context): PreparedCall => {
    const { planned, text } = draft;
    const spawned = planned.spawn !== undefined;
    const isBarred = planned.isModels && context.only?.has(planned.name) === false;
    const definition = spawned || isBarred ? undefined : context.known.get(planned.name);
    if (spawned) return subagent(draft, context);
    if (isBarred) return barred(planned);
    if (definition === undefined) return unknown(planned, context);
    if (definition.tool.handler === ToolHandler.ENGINE) return own(draft, definition, context);
    return found(planned, definition, text, draft.terms, context);
  };

  /** A call of a tool that the agent has. */
  const found = (
    planned: PlannedCall,
    definition: Definition,
    text: string,
    terms: ArgumentTerms,
    context: Context,
    wrapped = false,
  ): PreparedCall => {
    const { tool } = definition;
    const { agent } = context;
    const input = checkInput(schemas, definition, text, terms);
    const handler = tool.handler === ToolHandler.UNSPECIFIED ? ToolHandler.WORKER : tool.handler;
    const call: PreparedCall = {
      callId: planned.callId,
      name: tool.name,
      arguments: wrapped ? text : undefined,
      toolDigest: definition.digest,
      input,
      inputFailure: inputFailure(tool.name, input),
      policy: callPolicy(handler, {
        deployment: policies,
        agent,
        tool: tool.retry,
        call: planned.retry,
      }),
      safeToRepeat: isSafeToRepeat(tool, planned.retry),
      requireValidInput: requiresValidInput(tool),
      handler,
      sequential: tool.executionMode === ExecutionMode.SEQUENTIAL,
      endsTurn: tool.endsTurn,
      outcome: undefined,
      approval: undefined,
      placement: undefined,
    };
    const fault = handler === ToolHandler.SUBAGENT ? subagentFault(tool.name, context) : undefined;
    if (fault !== undefined) return { ...call, outcome: fault };
    return wantsApproval(agent?.approval, tool) ? { ...call, approval: approval(call, text) } : call;
  };

  /** A subagent that a decision starts in its own words: nothing declares it, and nothing has to be checked. */
  const subagent = ({ planned }: Draft, context: Context): PreparedCall => ({
    ...bare(planned, create(ToolInputSchema, { status: { case: 'valid', value: {} } })),
    policy: callPolicy(ToolHandler.SUBAGENT, {
      deployment: policies,
      agent: context.agent,
      tool: undefined,
      call: undefined,
    }),
    handler: ToolHandler.SUBAGENT,
    outcome: subagentFault(planned.name, context),
  });

  const unknown = (planned: PlannedCall, { known }: Context, name = planned.name): PreparedCall => ({
    ...bare(planned, create(ToolInputSchema, { status: { case: 'valid', value: {} } })),
    outcome: { error: unknownTool(name, nearestNames([...known.keys()], name, NEAREST_NAMES)) },
  });

  /** The engine's own tools answer at once, or become the call that they name (6.8, 6.12). */
  const own = (draft: Draft, definition: Definition, context: Context): PreparedCall => {
    const { planned, text } = draft;
    const input = checkInput(schemas, definition, text, draft.terms);
    const { tool } = definition;
    const call: PreparedCall = {
      ...bare(planned, input),
      toolDigest: definition.digest,
      endsTurn: tool.endsTurn,
      handler: ToolHandler.ENGINE,
    };
    const error = inputFailure(tool.name, input);
    if (error !== undefined) return { ...call, outcome: { error } };
    const value = input.status.case === 'valid' ? (input.status.value.repairedJson ?? text) : text;
    switch (tool.name) {
      case TOOL_SEARCH: {
        const query = JSON.parse(memberText(value, 'query') ?? '""') as string;
        return { ...call, outcome: { result: toolSearch(context.agent, context.box, query) } };
      }
      case SUBMIT_RESULT:
        return { ...call, outcome: { result: submitted(memberText(value, 'result') ?? 'null') } };
      case CALL_TOOL: {
        const name = JSON.parse(memberText(value, 'name') ?? '""') as string;
        const target = context.box.tools.find((each) => each.definition.tool.name === name)?.definition;
        if (target === undefined) return unknown(planned, context, name);
        return found(
          planned,
          target,
          memberText(value, 'arguments') ?? '',
          { ...draft.terms, nullForAbsent: false },
          context,
          true,
        );
      }
      default:
        return unknown(planned, context);
    }
  };

  /** The call with a worker, where one is free. */
  const placed = (call: PreparedCall, { runner, known }: Context): PreparedCall => {
    const needsWorker = call.handler === ToolHandler.WORKER || call.handler === ToolHandler.CONNECTOR;
    const refused =
      call.inputFailure !== undefined && (call.requireValidInput || call.handler !== ToolHandler.WORKER);
    if (!needsWorker || refused || call.outcome !== undefined || call.approval !== undefined) return call;
    const { tenant, sessionId } = runner.key;
    const text = call.arguments ?? argumentsOf(runner, call.callId);
    const reservation = workers.reserve(tenant, call.name, sessionId);
    if (reservation === undefined) return call;
    const asked = {
      callId: call.callId,
      name: call.name,
      arguments: text,
      toolDigest: call.toolDigest,
      input: call.input,
    };
    const placement = placementOf(reservation, asked, options, runner.session);
    const error = tooLarge(reservation, asked, placement);
    if (error === undefined) return { ...call, placement };
    workers.release(reservation.leaseToken);
    return known.size === 0 ? call : { ...call, outcome: { error } };
  };

  return function begin(runner, planned, name): void {
    const waits = (box: ToolBox): boolean =>
      iterations.waits(runner, name, box, () => begin(runner, planned, name));
    prepare(runner, planned, waits).then(
      (calls) => calls && request(runner, calls),
      (error: unknown) => {
        const refusal = refuse(error);
        if (hasNoRoom(error)) {
          runner.againLater(name);
          return;
        }
        if (refusal === undefined) observer.report('error', 'preparation_failed', { error: String(error) });
        const message = refusal?.message ?? 'the engine could not prepare the call';
        const valid = create(ToolInputSchema, { status: { case: 'valid', value: {} } });
        request(
          runner,
          planned.map((call) => ({ ...bare(call, valid), outcome: { error: failure('internal', message) } })),
        );
      },
    );
  };

  function request(runner: SessionRunner, calls: readonly PreparedCall[]): void {
    runner.send({ kind: 'request_calls', at: clock.now(), calls }, (outcome) => {
      for (const { callId, placement } of calls) {
        if (placement === undefined) continue;
        const leases = outcome.ok ? (outcome.value.session.calls.get(callId)?.leases ?? []) : [];
        if (!leases.some(({ token }) => token === placement.leaseToken))
          workers.release(placement.leaseToken);
      }
    });
  }
}

interface Context {
  readonly runner: SessionRunner;
  readonly agent: AgentConfig | undefined;
  /** Parent sessions. */
  readonly depth: number;
  readonly turn: Turn;
  readonly known: ReadonlyMap<string, Definition>;
  readonly box: ToolBox;
  /** Set where the model was to have these tools alone: what else it calls does not run (6.4). */
  readonly only: ReadonlySet<string> | undefined;
}

function isRestricted({ nextModelCall: { withoutTools, toolNames } }: Turn): boolean {
  return withoutTools || toolNames.length > 0;
}

const NEAREST_NAMES = 3;

function submitted(valueJson: string) {
  const content = create(ContentSchema, {
    kind: { case: 'text', value: { text: 'The result is accepted.' } },
  });
  return create(ToolResultSchema, { structuredJson: valueJson, content: [content], endsTurn: true });
}

function argumentsOf(runner: SessionRunner, callId: string): string {
  const { conversation } = runner.session;
  const planned = conversation?.turn?.plan.find((each) => each.callId === callId);
  return conversation === undefined || planned === undefined
    ? ''
    : argumentsIn(conversation.messages, planned.messageId, callId);
}
