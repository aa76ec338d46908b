import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { FailureSchema } from '../../gen/spindle/v1/result_pb.ts';
import {
  type CallToolResponse,
  CallToolResponseSchema,
  type CallUpdate,
  CallUpdateSchema,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import { CATALOG_POLL_MS } from '../core/limits.ts';
import { duration } from '../core/time.ts';
import { type CallEvent, type CallResult, type Client, SpindleError } from '../sdk/index.ts';
import type { Sourced, ToolSource } from './tool-source.ts';

/** The tools of an engine that a client reaches. */
export function clientSource(client: Client): ToolSource {
  const offered = async () => {
    const served = await client.tools();
    return served.flatMap(({ tool }) => tool ?? []);
  };

  return {
    tools: () => sourced(offered),
    search: (query, maxMatches) => sourced(() => client.search(query, { maxMatches })),
    call: ({ name, arguments: rawArguments, callId, traceContext }, heard, signal) =>
      sourced(async () => {
        const events = client.stream(name, { rawArguments }, { callId, traceContext, signal });
        for await (const event of events) {
          if (event.kind === 'finished') return responseOf(event.result);
          const update = updateOf(event);
          if (update !== undefined) heard(update);
        }
        throw new Error(`the engine ended the stream of call ${callId} before the call had ended`);
      }),
    cancel: (callId, reason) => sourced(() => client.cancel(callId, { reason })),
    readBlob: (uri) => sourced(async () => client.readBlob(uri)),
    watch(changed) {
      let seen: string | undefined;
      let timer: NodeJS.Timeout;
      let stopped = false;
      const look = async (): Promise<void> => {
        const current = await sourced(async () => JSON.stringify(await offered()));
        if (stopped) return;
        // An engine that is away is back in a moment, with the same tools as like as not.
        if (current.ok && current.value !== seen) {
          if (seen !== undefined) changed();
          seen = current.value;
        }
        again();
      };
      const again = (): void => {
        timer = setTimeout(() => {
          look().catch(() => again());
        }, CATALOG_POLL_MS);
        timer.unref();
      };
      look().catch(() => again());
      return () => {
        stopped = true;
        clearTimeout(timer);
      };
    },
  };
}

/** What the client throws about a request is a refusal; anything else is a bug. */
async function sourced<T>(run: () => Promise<T>): Promise<Sourced<T>> {
  try {
    return { ok: true, value: await run() };
  } catch (error) {
    if (!(error instanceof SpindleError)) throw error;
    const { reason, message, metadata } = error;
    return { ok: false, refusal: { reason, message, metadata } };
  }
}

/** What of a call's events says something about its progress. */
function updateOf(event: CallEvent): CallUpdate | undefined {
  const update = (kind: NonNullable<MessageInitShape<typeof CallUpdateSchema>['kind']>): CallUpdate =>
    create(CallUpdateSchema, { callId: event.callId, kind });
  switch (event.kind) {
    case 'progress': {
      const { completed, total, activity } = event;
      const counts = {
        ...(completed === undefined ? {} : { completed }),
        ...(total === undefined ? {} : { total }),
      };
      return update({ case: 'progress', value: { ...counts, activity } });
    }
    case 'retrying':
      return update({ case: 'retrying', value: { attempt: event.attempt } });
    case 'open':
      return update({ case: 'open', value: {} });
    case 'interrupted':
      return update({ case: 'interrupted', value: { interruptId: event.interruptId } });
    default:
      return undefined;
  }
}

/** The message of which the client made the result. */
function responseOf(result: CallResult): CallToolResponse {
  const { callId, attempts } = result;
  if (result.result !== undefined) {
    return create(CallToolResponseSchema, {
      callId,
      attempts,
      outcome: { case: 'result', value: result.result },
    });
  }
  if (result.ok) throw new Error('the client gave a result without its message');
  const { retryAfterMs, detail, ...error } = result.error;
  const value = create(FailureSchema, {
    ...error,
    ...(retryAfterMs === undefined ? {} : { retryAfter: duration(retryAfterMs) }),
    detailJson: detail === undefined ? '' : JSON.stringify(detail),
  });
  return create(CallToolResponseSchema, { callId, attempts, outcome: { case: 'error', value } });
}
