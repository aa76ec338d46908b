import { GoAwayReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Millis } from '../core/time.ts';
import type { Registry } from './registry.ts';
import { serveStream, type WorkerStream } from './stream.ts';
import type { Transport } from './transport.ts';
import type { StreamOwner } from './worker-rights.ts';

/** Every open stream of a worker. */
export interface WorkerStreams {
  serve(owner: StreamOwner, transport: Transport): void;
  /** The engine shuts down: nothing is dispatched any more, and every stream ends after this long. */
  shutDown(closesAfter: Millis): void;
}

export function createWorkerStreams(registry: Registry): WorkerStreams {
  const streams = new Set<WorkerStream>();
  return {
    serve(owner, transport) {
      const stream = serveStream(registry, owner, transport, () => streams.delete(stream));
      streams.add(stream);
    },
    shutDown(closesAfter) {
      for (const stream of [...streams]) stream.goAway(GoAwayReason.SHUTDOWN, closesAfter);
    },
  };
}
