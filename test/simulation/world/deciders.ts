import { callModel, callTool, done, raiseInterrupt } from '../../../src/sdk/agent/action.ts';
import { type Agent, defineAgent } from '../../../src/sdk/agent/agent.ts';
import type { Decision } from '../../../src/sdk/agent/decision.ts';
import type { DecisionContext, DecisionTrigger } from '../../../src/sdk/agent/decision-context.ts';
import type { Dice } from './dice.ts';
import type { History } from './history.ts';
import type { Process, Scheduler } from './scheduler.ts';
import { AGENT_TOOLS, BOSS, KID, KID_CONFIG } from './talks.ts';

export interface DecidersWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly history: History;
  readonly process: Process;
  /** Once set, every decider takes the proposal, and soon. */
  readonly calm: () => boolean;
}

const TRIGGERS: readonly Exclude<DecisionTrigger, 'client.action' | 'tool.execute'>[] = [
  'session.start',
  'client.messages',
  'model.finished',
  'tool.finished',
  'subagent.finished',
  'interrupt.resumed',
  'turn.finished',
];

/** The agents that a worker's process binds: for some triggers of some agents it wants to be asked. */
export function decidersOf(world: DecidersWorld): Agent[] {
  return [BOSS, KID].flatMap((id) => {
    const wanted = TRIGGERS.filter(() => world.dice.chance(0.3));
    if (wanted.length === 0) return [];
    const on = Object.fromEntries(
      wanted.map((name) => [name, (context: DecisionContext) => decideOn(world, name, context)]),
    );
    const useTools = id === KID ? KID_CONFIG.useTools : [];
    const { model, system } = KID_CONFIG;
    return [observed(world, defineAgent({ id, model, system, useTools, context: 'trigger', on }))];
  });
}

/** Quick or slow, as proposed or not, and sometimes against the rules. */
async function decideOn(
  { dice, scheduler, process, calm }: DecidersWorld,
  name: DecisionTrigger,
  { proposal, turnId, signal }: DecisionContext,
): Promise<Decision> {
  const millis = calm()
    ? dice.between(1, 20)
    : dice.chance(0.06)
      ? dice.between(5_000, 30_000)
      : dice.latency(80, 3_000);
  await new Promise<void>((resolve, reject) => {
    scheduler.at(scheduler.now + millis, 'world', process, resolve);
    if (dice.chance(0.5)) signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  if (calm()) return proposal;
  const how = dice.weighted({
    accept: 55,
    state: 10,
    throw: 4,
    wrong: 7,
    pause: 4,
    hold: 12,
    narrow: 10,
    extra: 5,
    end: 2,
  });
  const startsTurn = turnId === '' || name === 'session.start';
  const started = proposal.actions.flatMap(({ kind }) =>
    kind.case === 'toolCall' ? [kind.value.callId] : [],
  );
  const callsModel = proposal.actions.some(({ kind }) => kind.case === 'modelCall');
  switch (how) {
    case 'throw':
      throw new Error('a bug of the decider');
    case 'wrong':
      return { ...proposal, actions: [callModel(), callModel(), done()] };
    case 'state':
      return { ...proposal, state: { decided: name, token: dice.token() } };
    case 'pause':
      return startsTurn ? proposal : { ...proposal, actions: [raiseInterrupt({ reason: 'pause' })] };
    case 'hold': {
      if (started.length === 0) return proposal;
      const held = raiseInterrupt({ reason: 'confirm', callId: dice.pick(started) });
      return { ...proposal, actions: [...proposal.actions, held] };
    }
    case 'narrow':
      return callsModel
        ? { ...proposal, actions: [callModel({ toolNames: [dice.pick(AGENT_TOOLS)] })] }
        : proposal;
    case 'extra':
      return callsModel
        ? { ...proposal, actions: [callTool(dice.pick(AGENT_TOOLS), { n: dice.int(1, 999_999) })] }
        : proposal;
    case 'end':
      return startsTurn ? proposal : { ...proposal, actions: [done({ by: name })] };
    case 'accept':
      return proposal;
  }
}

/** Puts every decision on record, by its lease. */
function observed({ history, process }: DecidersWorld, agent: Agent): Agent {
  return {
    ...agent,
    work(dispatch) {
      const work = agent.work(dispatch);
      if (work === undefined || work.subject.kind !== 'decision') return work;
      const { leaseToken, sessionId, decisionId } = dispatch;
      const name = { worker: process.name, leaseToken, sessionId, decisionId };
      const { trigger } = work.subject;
      return {
        ...work,
        start(hooks) {
          history.record({ kind: 'decision_asked', trigger, ...name });
          return work.start(hooks).then((ending) => {
            history.record({ kind: 'decision_said', ending, ...name });
            return ending;
          });
        },
      };
    },
  };
}
