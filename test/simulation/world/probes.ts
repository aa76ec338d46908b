import { create } from '@bufbuild/protobuf';
import { CallerSchema } from '../../../gen/spindle/v1/call_pb.ts';
import { CallToolRequestSchema } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { TENANT } from './callers.ts';
import type { EngineProcess } from './engine-process.ts';
import type { Fleet } from './fleet.ts';
import type { Scheduler } from './scheduler.ts';
import { probeOf } from './worker-process.ts';

/** What fresh calls to one worker showed: all of its slots are free, or not. */
export interface Probe {
  readonly worker: string;
  readonly slots: number;
  /** How many calls ran at once. */
  readonly ran: number;
  /** How many of them ended with a result. */
  readonly ended: number;
}

const PROBER = create(CallerSchema, { tenant: TENANT, subject: 'prober' });
const PATIENCE_MS = 30_000;

/** Fills every slot of every worker at once: a slot that leaked would be missing (5.4). */
export async function runProbes({
  scheduler,
  fleet,
  engine,
}: {
  readonly scheduler: Scheduler;
  readonly fleet: Fleet;
  readonly engine: () => EngineProcess | undefined;
}): Promise<Probe[]> {
  const probes: Probe[] = [];
  for (const worker of fleet.running()) {
    const slots = worker.maxInFlight;
    const serving = engine();
    let ended = 0;
    for (let index = 0; index < slots; index++) {
      const request = create(CallToolRequestSchema, {
        name: probeOf(worker.process),
        arguments: '{}',
        callId: `${probeOf(worker.process)}-${index}`,
      });
      scheduler.at(scheduler.now, 'network', serving?.process, () =>
        serving?.engine.calls.request(PROBER, request, {
          wantsAll: false,
          update: ({ kind }) => {
            if (kind.case === 'finished' && kind.value.outcome.case === 'result') ended += 1;
          },
          lost: () => undefined,
        }),
      );
    }
    await scheduler.run(scheduler.now + PATIENCE_MS, () => worker.probes.size === slots);
    const ran = worker.probes.size;
    for (const letGo of worker.probes) scheduler.at(scheduler.now, 'world', worker.process, letGo);
    await scheduler.run(scheduler.now + PATIENCE_MS, () => ended === slots);
    probes.push({ worker: worker.process.name, slots, ran, ended });
  }
  // The last verdicts are still on their way.
  await scheduler.run(scheduler.now + PATIENCE_MS);
  return probes;
}
