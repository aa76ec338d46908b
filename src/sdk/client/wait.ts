import type { CallToolRequest } from '../../../gen/spindle/v1/tool_service_pb.ts';
import type { SdkClock } from '../ports.ts';
import { SpindleError, statusCode } from '../spindle-error.ts';
import { callEventOf } from './call-event.ts';
import type { CallLane } from './call-lane.ts';
import type { WaitOptions } from './call-request.ts';
import { type CallResult, callResultOf } from './call-result.ts';
import { createEventQueue, type EventQueue } from './event-queue.ts';
import type { Waiter } from './waiting-calls.ts';

export interface WaitPorts {
  readonly lane: CallLane;
  readonly clock: SdkClock;
}

/** Makes a call and waits for its end. */
export function waitForEnd<Value>(
  request: CallToolRequest,
  options: WaitOptions,
  ports: WaitPorts,
): Promise<CallResult<Value>> {
  const { promise, resolve, reject } = Promise.withResolvers<CallResult<Value>>();
  const waiter: Waiter = {
    update({ kind }) {
      if (kind.case !== 'finished') return;
      limits.release();
      resolve(callResultOf<Value>(kind.value));
    },
    fail(error) {
      limits.release();
      reject(error);
    },
  };
  const limits = limitWait(request, waiter, options, ports, reject);
  begin(request, waiter, ports);
  return promise;
}

/** Makes a call and gives what happens to it. Ending the iteration ends the wait, never the call. */
export function waitForEvents<Value>(
  request: CallToolRequest,
  options: WaitOptions,
  ports: WaitPorts,
): EventQueue<Value> {
  const queue = createEventQueue<Value>(() => {
    limits.release();
    ports.lane.leave(request.callId, waiter);
  });
  const waiter: Waiter = {
    update(update) {
      const event = callEventOf<Value>(update);
      if (event !== undefined) queue.push(event);
    },
    fail: queue.fail,
  };
  const limits = limitWait(request, waiter, options, ports, queue.fail);
  begin(request, waiter, ports);
  return queue;
}

function begin(request: CallToolRequest, waiter: Waiter, { lane }: WaitPorts): void {
  try {
    lane.add(request, waiter);
  } catch (error) {
    if (!(error instanceof SpindleError)) throw error;
    waiter.fail(error);
  }
}

/** Ends a wait by the caller's signal or time. */
function limitWait(
  { callId }: CallToolRequest,
  waiter: Waiter,
  options: WaitOptions,
  { lane, clock }: WaitPorts,
  reject: (reason: unknown) => void,
): { release(): void } {
  const { signal, timeoutMs } = options;
  const end = (reason: unknown): void => {
    release();
    if (options.onAbort === 'cancel') lane.cancel(callId);
    lane.leave(callId, waiter);
    reject(reason);
  };
  const onAbort = (): void => end(signal?.reason);
  const disarm =
    timeoutMs === undefined
      ? () => undefined
      : clock.alarm(clock.now() + timeoutMs, () =>
          end(
            new SpindleError(`call ${callId} did not end within ${timeoutMs} ms; it may still go on`, {
              code: statusCode('DEADLINE_EXCEEDED'),
              reason: 'wait_timeout',
              metadata: { call_id: callId },
            }),
          ),
        );
  function release(): void {
    disarm();
    signal?.removeEventListener('abort', onAbort);
  }
  signal?.addEventListener('abort', onAbort, { once: true });
  return { release };
}
