/** Plays a transcript on a whole engine of virtual time, also one that is killed on the way. */
import { create } from '@bufbuild/protobuf';
import type { AgentConfig } from '../../../../gen/spindle/v1/agent_pb.ts';
import type { SessionEvent } from '../../../../gen/spindle/v1/event_pb.ts';
import { AnswerVerdict, AnswerVerdictSchema } from '../../../../gen/spindle/v1/result_pb.ts';
import {
  CreateSessionRequestSchema,
  ResumeInterruptRequestSchema,
  StartTurnRequestSchema,
} from '../../../../gen/spindle/v1/session_service_pb.ts';
import { SettleCallRequestSchema } from '../../../../gen/spindle/v1/tool_service_pb.ts';
import { evolve } from '../../../../src/core/evolve.ts';
import type { Outcome } from '../../../../src/core/refusal.ts';
import { newSession, type Session } from '../../../../src/core/session.ts';
import { openItems } from '../../../../src/engine/loop/session-message.ts';
import type { ModelCall } from '../../../../src/engine/ports.ts';
import type { Script } from '../../../../src/models/scripted.ts';
import { CALLER, type VirtualEngine, virtualEngine } from '../../virtual.ts';
import { createNames, describeEvent, describeRequest, messageLine, outcomeText } from './describe.ts';
import { createTranscriptModels } from './models.ts';
import type { Command, Transcript } from './parse.ts';
import { agentOf, inputOf, resultsOf, settlementOf } from './values.ts';
import { createWorker, type TranscriptWorker } from './worker.ts';

export interface Played {
  /** What each command led to. */
  readonly outputs: readonly (readonly string[])[];
  /** How everything stands in the end: what must not depend on where the engine was killed. */
  readonly end: readonly string[];
  /** Appends of the whole play. */
  readonly appends: number;
  /** The logs of all sessions. */
  readonly logs: ReadonlyMap<string, readonly SessionEvent[]>;
  /** Every request to a model. */
  readonly calls: readonly ModelCall[];
  /** Sessions that the engine still has in memory. */
  readonly engine: VirtualEngine;
}

/** @param killAt the engine is killed when so many appends are durable, and started again */
export async function play({ commands }: Transcript, killAt?: number): Promise<Played> {
  const names = createNames();
  const trace: string[] = [];
  const logs = new Map<string, SessionEvent[]>();
  const calls: ModelCall[] = [];
  const workers = new Map<string, TranscriptWorker>();
  const agents = new Map<string, AgentConfig>();
  const models = createTranscriptModels((call) => {
    calls.push(call);
    trace.push(...describeRequest(call.request, names));
  });
  let engine = await virtualEngine(1, undefined, { models, agents });
  let config: AgentConfig | undefined;
  let turns = 0;
  engine.journal.killAt = killAt;
  engine.journal.onAppended = (events) => {
    for (const event of events) {
      const log = logs.get(event.sessionId) ?? [];
      logs.set(event.sessionId, log);
      log.push(event);
      const of = event.sessionId === MAIN ? '' : `[${names.of(event.sessionId)}] `;
      trace.push(...`${of}${describeEvent(event, names)}`.split('\n'));
    }
  };

  /** Until nobody has anything left to say. An engine that was killed meanwhile is started again. */
  const settle = async (): Promise<void> => {
    for (let busy = true; busy; ) {
      busy = false;
      const before = engine.journal.appended;
      await engine.advance(0);
      await engine.advance(0);
      if (!engine.isAlive) {
        busy = true;
        await restart();
        continue;
      }
      for (const worker of workers.values()) busy = (await worker.pump()) || busy;
      busy ||= engine.journal.appended !== before;
    }
  };

  const restart = async (): Promise<void> => {
    engine = await engine.restart();
    for (const worker of connected) await worker.connect(engine);
  };

  /** Workers that have a stream, or want one. */
  const connected = new Set<TranscriptWorker>();

  /** Does what a client asks for, and again where the engine was killed before it answered, as clients do. */
  const ask = async <T>(request: (engine: VirtualEngine) => Promise<Outcome<T>>): Promise<T | undefined> => {
    for (;;) {
      const asked = engine;
      let outcome: Outcome<T> | undefined;
      request(asked).then(
        (value) => {
          outcome = value;
          if (!value.ok && asked.isAlive)
            trace.push(`refused ${value.refusal.reason}: ${value.refusal.message}`);
        },
        (error: unknown) => {
          throw error;
        },
      );
      await settle();
      if (outcome !== undefined) return outcome.ok ? outcome.value : undefined;
      if (asked.isAlive) throw new Error('the engine did not answer');
    }
  };

  const createSession = (sessionId: string): Promise<unknown> => {
    const request = create(CreateSessionRequestSchema, {
      sessionId,
      agentId: 'agent',
      ...(config && { agent: config }),
    });
    return ask(({ engine: { conversations } }) => conversations.create(CALLER, request));
  };

  const session = (sessionId = MAIN): Session =>
    (logs.get(sessionId) ?? []).reduce(evolve, newSession(sessionId));

  const startTurn = async ({ words, options }: Command, input: ReturnType<typeof inputOf>): Promise<void> => {
    const sessionId = options['session'] ?? MAIN;
    if (!logs.has(sessionId)) await createSession(sessionId);
    const [turnId = `turn-${++turns}`] = words.filter((word) => word !== 'queue');
    names.set(turnId, turnId);
    const request = create(StartTurnRequestSchema, {
      sessionId,
      turnId: turnId === '-' ? '' : turnId,
      input,
      queue: words.includes('queue'),
      ...(options['task'] === undefined ? {} : { task: { resultSchemaJson: options['task'] } }),
    });
    const started = await ask(({ engine: { conversations } }) =>
      conversations.startTurn(CALLER, { request, traceContext: {} }),
    );
    if (started?.existing) trace.push(`-> turn ${names.of(started.turnId)}, which was there`);
    if (started?.queued) trace.push(`-> turn ${names.of(started.turnId)} is queued`);
  };

  const interruptOf = (of: string): string => {
    const items = openItems(session()).filter(({ reason }) => reason === 3);
    const all = [...(session().conversation?.interrupts.values() ?? [])];
    const item = items.find(({ id, callId }) => (of === 'turn' ? callId === '' : callId === of || id === of));
    return item?.id ?? all.find(({ callId }) => callId === (of === 'turn' ? '' : of))?.interruptId ?? of;
  };

  const resume = async (of: string, payloadJson: string, denyReason: string | undefined): Promise<void> => {
    const interruptId = interruptOf(of);
    const request = create(ResumeInterruptRequestSchema, {
      sessionId: MAIN,
      interruptId,
      payloadJson,
      ...(denyReason === undefined ? {} : { denyReason }),
    });
    const again = await ask(({ engine: { conversations } }) => conversations.resume(CALLER, request));
    if (again) trace.push('-> was answered before');
  };

  const run = async (command: Command): Promise<void> => {
    const { name, words, options, input } = command;
    const [first = ''] = words;
    const text = input.join('\n');
    switch (name) {
      case 'agent':
        if (first === '') config = agentOf(text);
        else agents.set(first, agentOf(text));
        return;
      case 'script':
        models.script(
          `scripted/${first || 'test'}`,
          input.map((line) => JSON.parse(line) as Script['answers'][number]),
        );
        return;
      case 'worker': {
        const worker = createWorker(command, (line) => trace.push(line));
        workers.set(worker.name, worker);
        connected.add(worker);
        await worker.connect(engine);
        return settle();
      }
      case 'behave':
        workers.get(first)?.behave(input);
        return;
      case 'vanish':
      case 'replace':
      case 'connect': {
        const worker = workers.get(first);
        if (worker === undefined) throw new Error(`there is no worker ${first}`);
        if (name !== 'connect') await worker.vanish();
        if (name === 'vanish') connected.delete(worker);
        else {
          if (name === 'replace') worker.replace();
          connected.add(worker);
          await worker.connect(engine);
        }
        return settle();
      }
      case 'create':
        await createSession(first || MAIN);
        return;
      case 'say':
        return startTurn(command, inputOf(input));
      case 'results':
        return startTurn(command, resultsOf(input));
      case 'settle': {
        const request = create(SettleCallRequestSchema, {
          sessionId: MAIN,
          callId: first,
          outcome: settlementOf(text),
        });
        const verdict = await ask(({ engine: { calls: service } }) => service.settle(CALLER, request));
        if (verdict !== undefined && verdict !== AnswerVerdict.RECORDED)
          trace.push(`-> ${AnswerVerdictSchema.value[verdict]?.localName ?? ''}`);
        return;
      }
      case 'resume':
        return resume(first, text, undefined);
      case 'deny':
        return resume(first, '', text);
      case 'cancel': {
        const turnId = await ask(({ engine: { conversations } }) =>
          conversations.cancelTurn(CALLER, MAIN, first, text),
        );
        if (turnId === '') trace.push('-> nothing to cancel');
        return;
      }
      case 'stop': {
        const ref = { sessionId: MAIN, callId: first };
        await ask(({ engine: { calls: service } }) => service.cancel(CALLER, ref, text));
        return;
      }
      case 'wait': {
        // Workers send heartbeats meanwhile.
        for (let left = seconds(first); left > 0; left -= 5) {
          await engine.advance(Math.min(left, 5) * 1_000);
          await settle();
          for (const worker of connected) await worker.heartbeat();
        }
        return settle();
      }
      case 'restart':
        await restart();
        return settle();
      case 'status':
        trace.push(...statusOf(session(options['session'] ?? MAIN)));
        return;
      case 'messages':
        for (const message of session(first || MAIN).conversation?.messages ?? [])
          trace.push(messageLine(message, names));
        return;
      case 'delete': {
        await ask(({ engine: { conversations } }) => conversations.remove(CALLER, first || MAIN));
        return;
      }
      default:
        throw new Error(`line ${command.line}: there is no command ${name}`);
    }
  };

  const outputs: string[][] = [];
  for (const command of commands) {
    await run(command);
    outputs.push(trace.splice(0));
  }
  const sessions = [...logs.keys()].sort().map((sessionId) => session(sessionId));
  return {
    outputs,
    end: sessions.flatMap((each) => endOf(each)),
    appends: engine.journal.appended,
    logs,
    calls,
    engine,
  };
}

const MAIN = 'main';

function seconds(text: string): number {
  const [, count = '0', unit = 's'] = /^(\d+)([smh])$/.exec(text) ?? [];
  return Number(count) * (unit === 'h' ? 3_600 : unit === 'm' ? 60 : 1);
}

function statusOf(session: Session): string[] {
  const { conversation } = session;
  if (conversation === undefined) return ['no session'];
  const { turn, queue, stateJson } = conversation;
  return [
    `turn: ${turn?.turnId ?? 'none'}`,
    ...(queue.length > 0 ? [`queued: ${queue.map(({ turnId }) => turnId).join(' ')}`] : []),
    ...(stateJson === '' ? [] : [`state: ${stateJson}`]),
    ...openItems(session).map(({ callId, name, reason, payloadJson }) =>
      ['open:', callId || 'turn', name, ['', 'client', 'deferred', 'interrupt'][reason], payloadJson]
        .filter((each) => each !== '')
        .join(' '),
    ),
  ];
}

/** All that a client can tell of a session once it rests. Names of its own making are left out. */
function endOf(session: Session): string[] {
  const { conversation, calls } = session;
  const plain = {
    of: (id: string) => (/^(?:model-token|message|decision|interrupt)-?\d*/.test(id) ? '*' : id),
  };
  return [
    session.sessionId,
    ...statusOf(session),
    ...[...(conversation?.turns ?? [])].map(([turnId, { ended }]) => {
      const outcome = ended?.outcome;
      if (outcome?.case === 'finished')
        return `${turnId} finished ${outcome.value.iterations} ${outcome.value.outputJson}`;
      if (outcome?.case === 'failed') return `${turnId} failed ${outcome.value.code}`;
      return outcome === undefined ? `${turnId} runs` : `${turnId} cancelled`;
    }),
    ...[...calls.values()]
      .map(
        ({ callId, name, phase }) =>
          `${plain.of(callId)} ${name} ${phase.kind === 'finished' ? outcomeText(phase.end.outcome) : phase.kind}`,
      )
      .sort(),
    // Results stand in the order in which calls ended.
    ...(conversation?.messages ?? []).map((message) => messageLine(message, plain)).sort(),
  ];
}
