import { WorkerService } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { WorkerStreams } from '../workers/streams.ts';
import { type Service, service } from './service.ts';

/** Where workers connect. By gRPC alone: the stream needs both directions at once. */
export function workerService(streams: WorkerStreams): Service {
  return service(
    WorkerService,
    { connect: (duplex, { caller, lifetime }) => streams.serve({ caller, lifetime }, duplex) },
    { http: false },
  );
}
