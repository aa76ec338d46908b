import { createHash } from 'node:crypto';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { ModelHandler } from '../../../gen/spindle/v1/agent_pb.ts';
import { ToolSetSchema } from '../../../gen/spindle/v1/event_pb.ts';
import type { Tool } from '../../../gen/spindle/v1/tool_pb.ts';
import { failure } from '../../core/failure.ts';
import { MAX_CACHED_TOOL_SETS, MAX_TOOLS_PER_AGENT } from '../../core/limits.ts';
import { MODEL_POLICY } from '../../core/loop/model-call.ts';
import type { ConversationEffect } from '../../core/loop/owed.ts';
import { requestHistory } from '../../core/loop/request.ts';

import { mergePolicies } from '../../core/policy.ts';
import type { Session } from '../../core/session.ts';
import type { Definition } from '../../schema/definition.ts';
import type { Shared } from '../engine.ts';
import { hasNoRoom } from '../journal-fault.ts';
import type { SessionRunner } from '../session-runner.ts';
import { assemble, type ToolBox } from './assembly.ts';
import { foundNames } from './tool-search.ts';

/** The tools of iterations: assembled, offered to the model, and found again by what was offered. */
export interface Iterations {
  /** Assembles the tools of an iteration and requests its model call. */
  begin(runner: SessionRunner, effect: Extract<ConversationEffect, { kind: 'assemble' }>, name: string): void;
  /** The agent's tools as they are now. Rejects with a JournalFault. */
  toolBox(runner: SessionRunner): Promise<ToolBox>;
  /** The definitions that a model call offered, by the digest of their set. Rejects with a JournalFault. */
  offered(tenant: string, toolSetDigest: string): Promise<readonly Definition[]>;
  /**
   * Whether names of the configuration may still come back, so that an effect has to wait for them (6.3); then it is
   * begun once more with `retry`.
   */
  waits(runner: SessionRunner, name: string, box: ToolBox, retry: () => void): boolean;
  withdraw(runner: SessionRunner, name: string): void;
  drop(runner: SessionRunner): void;
  /** Workers of a tenant, or of all, may have come back. */
  offer(tenant?: string): void;
}

type Place = Pick<Extract<ConversationEffect, { kind: 'assemble' }>, 'turnId' | 'iteration'>;

export function createIterations(shared: Shared): Iterations {
  const { options, definitions, refuse } = shared;
  const { schemas, workers, clock, random, blobs, observer, models } = options;
  /** Tools of configurations, which stay the same from one iteration to the next. */
  const defined = new WeakMap<Tool, Definition | string>();
  /** In order of use, the longest unused first. */
  const sets = new Map<string, readonly Definition[]>();
  /** Iterations that wait for workers to come back (6.3). */
  const waiting = new Map<SessionRunner, { readonly name: string; readonly retry: () => void }>();

  const define = (tool: Tool): Definition | string => {
    const known = defined.get(tool);
    if (known !== undefined) return known;
    const outcome = schemas.define(tool);
    const value = outcome.kind === 'defined' ? outcome.definition : outcome.reason;
    defined.set(tool, value);
    return value;
  };

  const toolBox = async (runner: SessionRunner): Promise<ToolBox> => {
    const { conversation } = runner.session;
    if (conversation?.agent === undefined)
      return { tools: [], own: [], leftOut: [], unavailable: [], unmatched: [] };
    const { agent, agentId, turn } = conversation;
    const { connectors } = options;
    const privileged = options.privilegedAgents?.has(agentId) ?? false;
    return assemble({ workers, connectors, define }, { ...runner.key, agent, turn, privileged });
  };

  /** Stores what a model call offers, so that its calls find the same definitions after a restart (7.5). */
  const store = async (tenant: string, offered: readonly Definition[]): Promise<string> => {
    await definitions.store(tenant, offered);
    const bytes = toBinary(
      ToolSetSchema,
      create(ToolSetSchema, { toolDigests: offered.map(({ digest }) => digest) }),
    );
    const digest = `sha256-${createHash('sha256').update(bytes).digest('hex')}`;
    const key = `${tenant}\n${digest}`;
    if (!sets.has(key)) await blobs.put(tenant, bytes);
    remember(key, offered);
    return digest;
  };

  const remember = (key: string, offered: readonly Definition[]): void => {
    sets.delete(key);
    sets.set(key, offered);
    const [oldest] = sets.keys();
    if (sets.size > MAX_CACHED_TOOL_SETS && oldest !== undefined) sets.delete(oldest);
  };

  const request = async (runner: SessionRunner, place: Place): Promise<void> => {
    const { session, key } = runner;
    const { agent } = session.conversation ?? {};
    const callId = `model-${random.token()}`;
    if (agent === undefined) {
      send(runner, place, { callId, unservable: failure('refused', NO_CONFIGURATION) });
      return;
    }
    const box = await toolBox(runner);
    const offer = offeredTools(session, box);
    const tools = offer.slice(0, MAX_TOOLS_PER_AGENT);
    const left = offer
      .slice(MAX_TOOLS_PER_AGENT)
      .map(({ tool }) => `${tool.name}: more than ${MAX_TOOLS_PER_AGENT} tools.`);
    const toolSetDigest = await store(key.tenant, tools);
    const action = session.conversation?.turn?.nextModelCall;
    const model = action?.model || agent.model;
    const untold = (
      models?.toolsLeftOut?.(
        model,
        tools.map(({ tool }) => tool),
      ) ?? []
    ).map(({ name, reason }) => `${name}: ${reason}.`);
    const fault = agent.modelHandler === ModelHandler.WORKER ? undefined : modelFault(model);
    send(runner, place, {
      callId,
      model,
      toolNames: tools.map(({ tool }) => tool.name),
      toolSetDigest,
      policy: mergePolicies(
        MODEL_POLICY,
        options.policies?.base,
        options.policies?.model,
        agent.retry?.base,
        agent.retry?.model,
        action?.retry,
      ),
      historyRepairs: requestHistory(session).repairs,
      toolsLeftOut: [...box.leftOut, ...left, ...untold].slice(0, MAX_TOOLS_PER_AGENT),
      toolsUnavailable: box.unavailable,
      unservable: fault === undefined ? undefined : failure('refused', fault),
    });
  };

  const modelFault = (model: string): string | undefined =>
    models === undefined ? 'this engine has no model providers' : models.fault(model);

  const send = (
    runner: SessionRunner,
    { turnId, iteration }: Place,
    facts: { readonly callId: string } & Partial<
      Parameters<SessionRunner['send']>[0] & { kind: 'request_model' }
    >,
  ): void =>
    runner.send(
      {
        kind: 'request_model',
        at: clock.now(),
        turnId,
        iteration,
        model: '',
        toolNames: [],
        toolSetDigest: '',
        policy: MODEL_POLICY,
        historyRepairs: [],
        toolsLeftOut: [],
        toolsUnavailable: [],
        unservable: undefined,
        ...facts,
      },
      () => undefined,
    );

  const iterations: Iterations = {
    toolBox,
    waits(runner, name, { unmatched }, retry) {
      // Their workers may be on their way back: an agent must not lose its tools for a restart of the engine.
      if (unmatched.length === 0 || clock.now() >= shared.namesSettledAt) return false;
      waiting.set(runner, { name, retry });
      return true;
    },
    begin(runner, place, name) {
      const start = (): void => {
        toolBox(runner)
          .then(async (box) => {
            if (!iterations.waits(runner, name, box, start)) await request(runner, place);
          })
          .catch((error: unknown) => {
            const refusal = refuse(error);
            if (hasNoRoom(error)) {
              runner.againLater(name);
              return;
            }
            if (refusal === undefined) observer.report('error', 'assembly_failed', { error: String(error) });
            const message = refusal?.message ?? 'the tools of the iteration could not be assembled';
            const unservable = failure('internal', message, { retryable: true });
            send(runner, place, { callId: `model-${random.token()}`, unservable });
          });
      };
      start();
    },
    async offered(tenant, toolSetDigest) {
      if (toolSetDigest === '') return [];
      const key = `${tenant}\n${toolSetDigest}`;
      const known = sets.get(key);
      if (known !== undefined) return known;
      const chunks = await blobs.read(tenant, toolSetDigest);
      if (chunks === undefined) return [];
      const bytes: Uint8Array[] = [];
      for await (const chunk of chunks) bytes.push(chunk);
      const { toolDigests } = fromBinary(ToolSetSchema, Buffer.concat(bytes));
      const found = await Promise.all(toolDigests.map((digest) => definitions.load(tenant, digest)));
      const offered = found.filter((definition) => definition !== undefined);
      remember(key, offered);
      return offered;
    },
    withdraw(runner, name) {
      if (waiting.get(runner)?.name === name) waiting.delete(runner);
    },
    drop: (runner) => void waiting.delete(runner),
    offer(tenant) {
      for (const [runner, { retry }] of [...waiting]) {
        if (tenant !== undefined && runner.key.tenant !== tenant) continue;
        waiting.delete(runner);
        retry();
      }
    },
  };
  return iterations;
}

const NO_CONFIGURATION =
  'The session has no configuration: session.start was decided without one. Bring one when the session is created.';

/** What the model sees: everything that is not deferred, what searches have found, and the engine's own tools. */
function offeredTools(session: Session, { tools, own }: ToolBox): Definition[] {
  const { agent, turn } = session.conversation ?? {};
  const action = turn?.nextModelCall;
  if (action === undefined || action.withoutTools) return [];
  const found = foundNames(session, agent);
  const offered = [
    ...tools
      .filter(({ deferred, definition }) => !deferred || found.has(definition.tool.name))
      .map(({ definition }) => definition),
    ...own,
  ];
  if (action.toolNames.length === 0) return offered;
  const wanted = new Set(action.toolNames);
  return offered.filter(({ tool }) => wanted.has(tool.name));
}
