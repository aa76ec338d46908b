import { create } from '@bufbuild/protobuf';
import {
  type CallToolRequest,
  type CallToolResponse,
  CancelCallResponseSchema,
  GetCallResponseSchema,
  ListCallsResponseSchema,
  ReadBlobResponseSchema,
  SettleCallResponseSchema,
  StartCallResponseSchema,
  StreamCallToolResponseSchema,
  ToolService,
  WatchCallResponseSchema,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import { accepted, type Outcome, refused } from '../core/refusal.ts';
import type { Calls } from '../engine/calls.ts';
import type { Engine } from '../engine/engine.ts';
import type { Observer } from '../engine/ports.ts';
import { serveCallStream } from './call-stream.ts';
import type { RequestContext } from './handlers.ts';
import { type Service, service } from './service.ts';
import { traced } from './traced.ts';
import { createUpdateQueue } from './update-queue.ts';

/** Tool calls without a model (ToolService). */
export function toolService({ calls, tools, readBlob, refuse }: Engine, observer: Observer): Service {
  return service(
    ToolService,
    {
      listTools: async (request, { caller }) => tools.list(caller, request),
      searchTools: async (request, { caller }) => tools.search(caller, request),

      callTool: (request, context) => ended(calls, request, context),

      async streamCallTool({ call }, out, context) {
        if (call === undefined) return NO_CALL;
        const queue = createUpdateQueue();
        const stop = calls.request(context.caller, traced(call, context), queue.watcher);
        const outcome = await queue.pump(
          out,
          (update) => create(StreamCallToolResponseSchema, { update }),
          context.signal,
        );
        stop();
        return outcome;
      },

      streamCalls: (duplex, context) => serveCallStream(calls, observer, duplex, context),

      async startCall({ call }, context) {
        if (call === undefined) return NO_CALL;
        const started = await recorded(calls, call, context);
        if (!started.ok) return started;
        const read = await calls.get(context.caller, { sessionId: '', callId: started.value });
        return read.ok ? accepted(create(StartCallResponseSchema, { call: read.value })) : read;
      },

      async getCall(ref, { caller }) {
        const read = await calls.get(caller, ref);
        return read.ok ? accepted(create(GetCallResponseSchema, { call: read.value })) : read;
      },

      async listCalls(request, { caller }) {
        const page = await calls.list(caller, request);
        return page.ok ? accepted(create(ListCallsResponseSchema, page.value)) : page;
      },

      async watchCall(ref, out, context) {
        const queue = createUpdateQueue();
        const watching = await calls.watch(context.caller, ref, queue.watcher);
        if (!watching.ok) return watching;
        const outcome = await queue.pump(
          out,
          (update) => create(WatchCallResponseSchema, { update }),
          context.signal,
        );
        watching.value();
        return outcome;
      },

      async settleCall(request, { caller }) {
        const settled = await calls.settle(caller, request);
        return settled.ok ? accepted(create(SettleCallResponseSchema, { verdict: settled.value })) : settled;
      },

      async cancelCall({ sessionId, callId, reason }, { caller }) {
        const cancelled = await calls.cancel(caller, { sessionId, callId }, reason);
        return cancelled.ok
          ? accepted(create(CancelCallResponseSchema, { call: cancelled.value }))
          : cancelled;
      },

      async readBlob({ uri }, out, { caller, signal }) {
        const blob = await readBlob(caller, uri);
        if (!blob.ok) return blob;
        try {
          for await (const data of blob.value) {
            if (signal.aborted) break;
            await out.write(create(ReadBlobResponseSchema, { data }));
          }
        } catch (error) {
          // Damage shows only when all bytes were read: the status tells that those before are not to be used.
          const refusal = refuse(error);
          if (refusal === undefined) throw error;
          return { ok: false, refusal };
        }
        return accepted(undefined);
      },
    },
    { http: true },
  );
}

const NO_CALL = refused('invalid_request', 'call is missing');

/** Waits for a call's end. Whoever stops waiting ends the wait, never the call (4.10). */
function ended(
  calls: Calls,
  request: CallToolRequest,
  context: RequestContext,
): Promise<Outcome<CallToolResponse>> {
  return new Promise((resolve) => {
    const stop = calls.request(context.caller, traced(request, context), {
      wantsAll: false,
      update: ({ kind }) => kind.case === 'finished' && resolve(accepted(kind.value)),
      lost: (refusal) => resolve({ ok: false, refusal }),
    });
    context.signal.addEventListener('abort', stop, { once: true });
  });
}

/** Waits until a call is on record, and says its id. */
function recorded(calls: Calls, request: CallToolRequest, context: RequestContext): Promise<Outcome<string>> {
  return new Promise((resolve) => {
    const stop = calls.request(context.caller, traced(request, context), {
      wantsAll: true,
      update: ({ callId }) => {
        resolve(accepted(callId));
        // The first update may come before `stop` exists.
        queueMicrotask(() => stop());
      },
      lost: (refusal) => resolve({ ok: false, refusal }),
    });
  });
}
