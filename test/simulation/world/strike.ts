import { create, toBinary } from '@bufbuild/protobuf';
import {
  type SessionEvent,
  SessionEventSchema,
  ToolCallFinishedSchema,
} from '../../../gen/spindle/v1/event_pb.ts';
import { FailureSchema } from '../../../gen/spindle/v1/result_pb.ts';
import { type Answer, ConnectRequestSchema } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { unreachable } from '../../../src/core/unreachable.ts';
import type { Dice } from './dice.ts';
import type { Disk, DiskFault } from './disk.ts';
import type { FaultKind } from './faults.ts';
import type { Fleet } from './fleet.ts';
import type { History } from './history.ts';
import type { Connection, Network } from './network.ts';
import type { Plant } from './plant.ts';
import type { Process, Scheduler } from './scheduler.ts';

export interface StrikeWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly history: History;
  readonly disk: Disk;
  readonly network: Network;
  readonly plant: Plant;
  readonly fleet: Fleet;
}

/** Makes a fault happen now. False where there is nothing that it could happen to. */
export function createStrikes(world: StrikeWorld): (kind: FaultKind) => boolean {
  const { scheduler, dice, history, disk, network, plant, fleet } = world;
  /** The last answers that workers wrote, and who runs which lease now. */
  const answers: { readonly worker: string; readonly answer: Answer }[] = [];
  const running = new Map<string, string>();
  history.listen((fact) => {
    if (fact.kind === 'run_started') running.set(fact.leaseToken, fact.worker);
    if (fact.kind === 'run_ended') running.delete(fact.leaseToken);
    if (fact.kind !== 'worker_wrote' || fact.frame.case !== 'answer') return;
    answers.push({ worker: fact.worker, answer: fact.frame.value });
    if (answers.length > 20) answers.shift();
  });

  const freeze = (process: Process): boolean => {
    if (!process.alive || process.frozen) return false;
    scheduler.freeze(process);
    scheduler.at(scheduler.now + dice.latency(3_000, 50_000), 'world', undefined, () =>
      scheduler.thaw(process),
    );
    return true;
  };

  const connection = (): Connection | undefined => {
    const open = network.connections().filter((one) => one.open);
    return open.length === 0 ? undefined : dice.pick(open);
  };

  const failDisk = (fault: DiskFault): boolean => {
    disk.fail(fault, fault === 'failed' ? 60_000 : dice.latency(1_500, 10_000));
    return true;
  };

  /** Another engine takes a session over, and ends its call (7.3). */
  const takeOver = (): boolean => {
    const unfinished = [...disk.logs().values()].filter(
      ({ key, head }) => head.unfinished && key.sessionId.startsWith('call:'),
    );
    if (unfinished.length === 0) return false;
    const { key, head, events } = dice.pick(unfinished);
    const last = events.at(-1);
    const finished = create(ToolCallFinishedSchema, {
      callId: key.sessionId.replace('call:', ''),
      attempts: 1,
      outcome: {
        case: 'error',
        value: create(FailureSchema, { code: 'cancelled', message: 'elsewhere', mayHaveTakenEffect: true }),
      },
    });
    const event: SessionEvent = create(SessionEventSchema, {
      sessionId: key.sessionId,
      sequence: events.length + 1,
      kind: { case: 'toolCallFinished', value: finished },
      ...(last?.occurredAt === undefined ? {} : { occurredAt: last.occurredAt }),
    });
    return disk.write(key, events.length, [event], { ...head, unfinished: false });
  };

  const say = (stream: Connection | undefined, leaseToken: string, outcome: Answer['outcome']): boolean => {
    if (stream === undefined) return false;
    const frame = { kind: { case: 'answer', value: { leaseToken, outcome } } } as const;
    stream.inject(toBinary(ConnectRequestSchema, create(ConnectRequestSchema, { frames: [frame] })));
    return true;
  };

  const welcomed = (isWanted: (worker: string) => boolean): Connection | undefined =>
    network.connections().findLast((one) => one.open && isWanted(one.worker.name) && fleet.serves(one));

  /** A worker says an answer again, on its newest stream. */
  const answerAgain = (): boolean => {
    const old = answers.length === 0 ? undefined : dice.pick(answers);
    if (old === undefined) return false;
    return say(
      welcomed((worker) => worker === old.worker),
      old.answer.leaseToken,
      old.answer.outcome,
    );
  };

  /** A worker answers what another one runs. */
  const forge = (): boolean => {
    const leases = [...running];
    if (leases.length === 0) return false;
    const [leaseToken, holder] = dice.pick(leases);
    return say(
      welcomed((worker) => worker !== holder),
      leaseToken,
      { case: 'valueJson', value: '"forged"' },
    );
  };

  return (kind) => {
    switch (kind) {
      case 'engine_crash':
        return plant.crash('crash', 0);
      case 'engine_crash_clock_back':
        return plant.crash('crash', -dice.between(1_000, 120_000));
      case 'engine_crash_clock_forward':
        return plant.crash('crash', dice.between(1_000, 120_000));
      case 'engine_drain':
        return plant.drain();
      case 'engine_freeze':
        return plant.current !== undefined && freeze(plant.current.process);
      case 'append_full':
        return failDisk('full');
      case 'append_full_for_new':
        return failDisk('full_for_new');
      case 'append_overloaded':
        return failDisk('overloaded');
      case 'append_failed':
        return failDisk('failed');
      case 'append_slow':
        return failDisk('slow');
      case 'session_taken_over':
        return takeOver();
      case 'worker_kill':
        return fleet.kill(false);
      case 'worker_kill_same_name':
        return fleet.kill(true);
      case 'worker_twin':
        return fleet.twin();
      case 'worker_freeze':
        return freeze(fleet.any().process);
      case 'worker_drain':
        return fleet.drain();
      case 'worker_capacity':
        return fleet.changeCapacity();
      case 'worker_definitions':
        return fleet.changeDefinitions();
      case 'stream_cut':
      case 'stream_silent': {
        const stream = connection();
        stream?.cut(kind === 'stream_cut' ? 'noticed' : 'silent');
        return stream !== undefined;
      }
      case 'stream_delay': {
        const stream = connection();
        stream?.delay(dice.chance(0.5) ? 'to_engine' : 'to_worker', dice.latency(4_000, 29_000));
        return stream !== undefined;
      }
      case 'answer_twice':
        return answerAgain();
      case 'answer_forged':
        return forge();
      default:
        return unreachable(kind);
    }
  };
}
