/** A registry with its streams on virtual time, and a listener that writes down what it hears. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Dispatch, DispatchSchema } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { WorkersListener } from '../../src/engine/ports.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { createRegistry, type Registry } from '../../src/workers/registry.ts';
import { createResumeTokens } from '../../src/workers/resume-token.ts';
import { createWorkerStreams } from '../../src/workers/streams.ts';
import {
  type HelloInit,
  openVirtualStream,
  seededRandom,
  type VirtualClock,
  type VirtualStream,
  virtualClock,
} from '../engine/virtual.ts';

export type Heard = {
  [Name in keyof WorkersListener]: [Name, ...Parameters<WorkersListener[Name]>];
}[keyof WorkersListener];

export interface RegistryWorld {
  readonly registry: Registry;
  readonly clock: VirtualClock;
  /** What the engine would have heard, in order. */
  readonly heard: Heard[];
  /** A stream that has said hello and sent its first heartbeat. */
  connect(hello: HelloInit): Promise<VirtualStream>;
  /** A stream on which nothing has been said. */
  open(): VirtualStream;
  advance(millis: number): Promise<void>;
}

export function registryWorld(seed = 1): RegistryWorld {
  const clock = virtualClock();
  const heard: Heard[] = [];
  let due: (() => void)[] = [];
  const registry = createRegistry({
    clock,
    random: seededRandom(seed),
    observer: { report: () => undefined },
    schemas: createSchemas(),
    resumeTokens: createResumeTokens(new Uint8Array(32)),
    soon: (run) => due.push(run),
  });
  registry.listen({
    declared: async (...said) => void heard.push(['declared', ...said]),
    answered: (...said) => heard.push(['answered', ...said]),
    rejected: (...said) => heard.push(['rejected', ...said]),
    progressed: (...said) => heard.push(['progressed', ...said]),
    modelDelta: (...said) => heard.push(['modelDelta', ...said]),
    lost: (...said) => heard.push(['lost', ...said]),
    away: (...said) => heard.push(['away', ...said]),
    available: (...said) => heard.push(['available', ...said]),
  });
  const streams = createWorkerStreams(registry);
  const settle = async (): Promise<void> => {
    for (let quiet = 0; quiet < 3; quiet++) {
      const now = due;
      due = [];
      for (const run of now) run();
      await new Promise(setImmediate);
    }
  };
  const open = () => openVirtualStream(streams, settle);
  return {
    registry,
    clock,
    heard,
    open,
    async connect(hello) {
      const stream = open();
      await stream.send({ case: 'hello', value: hello });
      await stream.heartbeat(0);
      return stream;
    },
    async advance(millis) {
      const end = clock.now() + millis;
      while (clock.ringNext(end)) await settle();
      clock.moveTo(end);
    },
  };
}

/** A dispatch that asks for a decision. */
export function decisionDispatch(
  kind: NonNullable<MessageInitShape<typeof DispatchSchema>['trigger']>['kind'],
): Dispatch {
  return create(DispatchSchema, { decisionId: 'd1', trigger: { kind } } as MessageInitShape<
    typeof DispatchSchema
  >);
}
