/** A whole engine on virtual time, with a scripted model, workers that answer at once, and one client. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type AgentConfig, AgentConfigSchema } from '../../../gen/spindle/v1/agent_pb.ts';
import type { SessionEvent, TurnEnded } from '../../../gen/spindle/v1/event_pb.ts';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import {
  CreateSessionRequestSchema,
  ResumeInterruptRequestSchema,
  StartTurnRequestSchema,
} from '../../../gen/spindle/v1/session_service_pb.ts';
import type { ModelRequest, ToolExecute } from '../../../gen/spindle/v1/trigger_pb.ts';
import { evolve } from '../../../src/core/evolve.ts';
import type { Outcome } from '../../../src/core/refusal.ts';
import { newSession, type Session } from '../../../src/core/session.ts';
import type { ModelAnswer, ModelCall, Models } from '../../../src/engine/ports.ts';
import { createScriptedModel, type Script } from '../../../src/models/scripted.ts';
import {
  type Outcome as AnswerOutcome,
  CALLER,
  type HelloInit,
  type VirtualEngine,
  type VirtualStream,
  virtualEngine,
} from '../virtual.ts';

export interface LoopWorld {
  readonly engine: VirtualEngine;
  /** Agents of the deployment. */
  readonly agents: { set(agentId: string, config: AgentInit): void };
  session(sessionId?: string): Promise<Session>;
  /** The requests that the model got so far. */
  readonly requests: readonly ModelRequest[];
  /** Every event of the session so far, oldest first. */
  log(sessionId?: string): Promise<readonly SessionEvent[]>;
  /** The kinds of the events, in the order of the log. */
  kinds(sessionId?: string): Promise<readonly string[]>;
  start(config?: AgentInit, sessionId?: string): Promise<void>;
  say(text: string, more?: Partial<TurnInit>): Promise<Outcome<unknown>>;
  resume(
    interruptId: string,
    more?: { payloadJson?: string; denyReason?: string },
  ): Promise<Outcome<boolean>>;
  /** How a turn ended; undefined while it runs. */
  ended(turnId?: string, sessionId?: string): Promise<TurnEnded['outcome'] | undefined>;
  /** A worker that answers each dispatch as `answer` says; undefined leaves it running. */
  worker(
    hello: HelloInit,
    answer: (execute: ToolExecute) => AnswerOutcome | undefined,
  ): Promise<VirtualStream>;
  restart(): Promise<LoopWorld>;
}

export type AgentInit = Omit<MessageInitShape<typeof AgentConfigSchema>, '$typeName'>;
type TurnInit = MessageInitShape<typeof StartTurnRequestSchema>;

export const SESSION = 'conversation';
export const TURN = 'turn';

/** An agent with a scripted model and the tools of the catalog that match `*`, unless it says otherwise. */
export function agentOf(config: AgentInit = {}): AgentConfig {
  return create(AgentConfigSchema, { model: 'scripted/test', useTools: ['*'], ...config } as AgentInit);
}

export async function loopWorld(
  answers: Script['answers'],
  seed = 1,
  provider: Partial<Models> & { readonly change?: (answer: ModelAnswer) => ModelAnswer } = {},
): Promise<LoopWorld> {
  const requests: ModelRequest[] = [];
  const scripted = createScriptedModel({ answers });
  const { change = (answer: ModelAnswer) => answer, ...more } = provider;
  const models: Models = {
    ...more,
    fault: (model) => (model.startsWith('scripted/') ? undefined : `there is no provider for ${model}`),
    call(call: ModelCall): Promise<ModelAnswer> {
      requests.push(call.request);
      return scripted.call(call).then(change);
    },
  };
  const agents = new Map<string, AgentConfig>();
  return worldOf(await virtualEngine(seed, undefined, { models, agents }), requests, agents);
}

function worldOf(
  engine: VirtualEngine,
  requests: readonly ModelRequest[],
  agents: Map<string, AgentConfig>,
): LoopWorld {
  const { conversations } = engine.engine;
  const workers: {
    stream: VirtualStream;
    answered: number;
    answer: (execute: ToolExecute) => AnswerOutcome | undefined;
  }[] = [];

  /** Until nothing is appended any more. */
  const rest = async (): Promise<void> => {
    for (let before = -1; before !== engine.journal.appended; ) {
      before = engine.journal.appended;
      await engine.advance(0);
      await engine.advance(0);
    }
  };

  /** Until nobody has anything left to say. */
  const settle = async (): Promise<void> => {
    await rest();
    for (let busy = true; busy; ) {
      busy = false;
      for (const worker of workers) {
        const dispatches = worker.stream.dispatches();
        for (; worker.answered < dispatches.length; worker.answered += 1) {
          const dispatch = dispatches[worker.answered];
          const execute = dispatch?.trigger?.kind;
          const outcome = execute?.case === 'toolExecute' ? worker.answer(execute.value) : undefined;
          if (dispatch === undefined || outcome === undefined) continue;
          await worker.stream.answer(dispatch.leaseToken, outcome);
          busy = true;
        }
      }
      await rest();
    }
  };

  const world: LoopWorld = {
    engine,
    requests,
    agents: { set: (agentId, config) => agents.set(agentId, agentOf(config)) },
    async session(sessionId = SESSION) {
      return (await world.log(sessionId)).reduce(evolve, newSession(sessionId));
    },
    async log(sessionId = SESSION) {
      const events: SessionEvent[] = [];
      for await (const event of engine.journal.read({ tenant: CALLER.tenant, sessionId }, 0))
        events.push(event);
      return events;
    },
    kinds: async (sessionId) => (await world.log(sessionId)).map(({ kind }) => kind.case ?? ''),
    async start(config = {}, sessionId = SESSION) {
      const request = create(CreateSessionRequestSchema, {
        sessionId,
        agentId: 'agent',
        agent: agentOf(config),
      });
      const created = await conversations.create(CALLER, request);
      if (!created.ok) throw new Error(`${created.refusal.reason}: ${created.refusal.message}`);
      await settle();
    },
    async say(text, more = {}) {
      const message = { role: Role.USER, parts: [textPart(text)] };
      const request = create(StartTurnRequestSchema, {
        sessionId: SESSION,
        turnId: TURN,
        input: { kind: { case: 'messages', value: { messages: [message] } } },
        ...more,
      } as TurnInit);
      const started = await conversations.startTurn(CALLER, { request, traceContext: {} });
      await settle();
      return started;
    },
    async resume(interruptId, more = {}) {
      const request = create(ResumeInterruptRequestSchema, {
        sessionId: SESSION,
        interruptId,
        payloadJson: '',
        ...more,
      });
      const resumed = await conversations.resume(CALLER, request);
      await settle();
      return resumed;
    },
    async ended(turnId = TURN, sessionId = SESSION) {
      const turn = await conversations.turn(CALLER, sessionId, turnId);
      return turn.ok ? turn.value.ended?.outcome : undefined;
    },
    async worker(hello, answer) {
      const stream = await engine.connect(hello);
      workers.push({ stream, answered: 0, answer });
      await settle();
      return stream;
    },
    restart: async () => worldOf(await engine.restart(), requests, agents),
  };
  return world;
}

export function textPart(text: string) {
  return { kind: { case: 'content' as const, value: { kind: { case: 'text' as const, value: { text } } } } };
}

/** A result of text, as a worker answers it. */
export function textResult(text: string): AnswerOutcome {
  return { case: 'result', value: { content: [{ kind: { case: 'text', value: { text } } }] } };
}
