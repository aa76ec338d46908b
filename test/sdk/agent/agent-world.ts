/** A worker with agents on virtual time, and an engine that a test plays by hand. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  Answer,
  DispatchSchema,
  SessionContextSchema,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { Agent } from '../../../src/sdk/worker/index.ts';
import type { WorkerStatus } from '../../../src/sdk/worker/status.ts';
import { workerOver } from '../../../src/sdk/worker/worker.ts';
import { createVirtualWorld, type VirtualStream } from '../virtual-world.ts';

type ContextInit = Extract<MessageInitShape<typeof SessionContextSchema>, { readonly $typeName?: never }>;
type DispatchInit = Extract<MessageInitShape<typeof DispatchSchema>, { readonly $typeName?: never }>;
export type TriggerKind = NonNullable<NonNullable<DispatchInit['trigger']>['kind']>;

export async function startAgents(...agents: readonly Agent[]) {
  const world = createVirtualWorld();
  const statuses: WorkerStatus[] = [];
  const worker = workerOver(
    { agents, signals: [], onStatus: (status) => statuses.push(status) },
    world.ports,
  );
  worker.run().catch(() => undefined);
  await world.settle();
  world.stream.send({ case: 'welcome', value: { connectionId: 'c', resumeToken: 'r' } });
  await world.settle();
  let sequence = 0;

  /** Sends a dispatch, and lets everything run that is ready. */
  async function dispatch(kind: TriggerKind, more: DispatchInit = {}, agentId = agents[0]?.id ?? '') {
    sequence += 1;
    const leaseToken = `lease-${sequence}`;
    world.stream.send({
      case: 'dispatch',
      value: {
        leaseToken,
        sequence,
        agentId,
        decisionId: `decision-${sequence}`,
        sessionId: 's1',
        turnId: 't1',
        trigger: { kind },
        proposed: {},
        ...more,
      },
    });
    await world.settle();
    return leaseToken;
  }

  const frames = <Case extends string>(name: Case) =>
    world.stream.frames.flatMap((frame) => (frame.case === name ? [frame.value] : []));
  const answers = (): Answer[] => frames('answer').filter((value) => value.$typeName === 'spindle.v1.Answer');

  return {
    worker,
    clock: world.clock,
    statuses,
    settle: world.settle,
    frames,
    dispatch,
    send: (...kinds: Parameters<VirtualStream['send']>) => world.stream.send(...kinds),
    /** What was answered to a lease. */
    outcome: (leaseToken: string) => answers().find((answer) => answer.leaseToken === leaseToken)?.outcome,
    /** Sends a dispatch and gives what was answered to it. */
    async ask(kind: TriggerKind, more: DispatchInit = {}) {
      const leaseToken = await dispatch(kind, more);
      return answers().find((answer) => answer.leaseToken === leaseToken)?.outcome;
    },
  };
}

/** A context as the engine sends it for the level `full`. */
export function session(more: ContextInit = {}): DispatchInit {
  return { context: { agent: { model: 'x/y' }, ...more } };
}

/** A proposal that calls the model. */
export const CALLS_MODEL: DispatchInit = {
  proposed: { actions: [{ kind: { case: 'modelCall', value: {} } }] },
};

export const toolCall = (name: string, args = '{}'): TriggerKind => ({
  case: 'toolExecute',
  value: { callId: 'c1', name, arguments: args, attempt: 1, input: { status: { case: 'valid', value: {} } } },
});
