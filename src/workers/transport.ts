import type { ConnectRequest, ConnectResponse } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Refusal } from '../core/refusal.ts';

/** One stream of a worker, whatever carries it: the gRPC port, or a simulated network. */
export interface Transport {
  /** Address and port, for logs. */
  readonly peer: string;
  onMessage(receive: (message: ConnectRequest) => void): void;
  /** The worker has said everything, and still reads. */
  onEnd(ended: () => void): void;
  /** The stream broke. Nothing follows. */
  onGone(gone: (reason: string) => void): void;
  /** There is room again after a `write` that answered false. */
  onDrain(drained: () => void): void;
  /** False when the peer reads too slowly: the message was taken, and no more should follow yet. */
  write(message: ConnectResponse): boolean;
  /** Ends the stream behind what was written: with OK, or with a refusal. */
  end(refusal?: Refusal): void;
  pause(): void;
  resume(): void;
}
