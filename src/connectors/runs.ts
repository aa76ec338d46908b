import { create } from '@bufbuild/protobuf';
import { type Progress, ProgressSchema } from '../../gen/spindle/v1/progress_pb.ts';
import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import type { Dispatch } from '../../gen/spindle/v1/worker_service_pb.ts';
import { failure } from '../core/failure.ts';
import { MAX_LABEL_CHARS } from '../core/limits.ts';
import type { Connector } from './connector.ts';
import { callServer, type ServerCallEnd } from './tool-call.ts';

/** A dispatch to a connector. */
export interface Run {
  readonly leaseToken: string;
  readonly connector: Connector;
  readonly tenant: string;
  readonly serverName: string;
  readonly dispatch: Dispatch;
}

export type RunEnd =
  | Exclude<ServerCallEnd, { kind: 'session_dropped' }>
  /** The arguments do not match, and the caller wanted no refusal: the error of the proposal it is (1.2). */
  | { readonly kind: 'accept' };

export interface RunsOptions {
  readonly progressed: (run: Run, progress: Progress) => void;
  /** Once for each run, unless it was abandoned. */
  readonly ended: (leaseToken: string, end: RunEnd) => void;
  /** A bug. */
  readonly failed: (error: unknown) => void;
}

/** Calls that servers have. */
export interface Runs {
  start(run: Run): void;
  /** Tells the server to stop. False where the call has not been started. */
  stop(leaseToken: string): boolean;
  /** Stops all, and says no more about any. */
  abandon(): void;
}

export function createRuns({ progressed, ended, failed }: RunsOptions): Runs {
  const running = new Map<string, AbortController>();
  let abandoned = false;

  const end = (leaseToken: string, how: RunEnd): void => {
    running.delete(leaseToken);
    if (!abandoned) ended(leaseToken, how);
  };

  return {
    start(run) {
      const { leaseToken } = run;
      if (running.has(leaseToken) || abandoned) return;
      const stopping = new AbortController();
      running.set(leaseToken, stopping);
      carryOut(run, stopping.signal, (progress) => progressed(run, progress)).then(
        (how) => end(leaseToken, how),
        (error: unknown) => {
          failed(error);
          end(leaseToken, { kind: 'lost' });
        },
      );
    },
    stop(leaseToken) {
      const stopping = running.get(leaseToken);
      stopping?.abort('the call was stopped');
      return stopping !== undefined;
    },
    abandon() {
      abandoned = true;
      for (const stopping of running.values()) stopping.abort('the engine shuts down');
    },
  };
}

async function carryOut(
  { connector, serverName, leaseToken, dispatch }: Run,
  signal: AbortSignal,
  report: (progress: Progress) => void,
): Promise<RunEnd> {
  if (dispatch.proposed !== undefined) return { kind: 'accept' };
  const { connection } = connector;
  const { kind } = dispatch.trigger ?? {};
  if (kind?.case !== 'toolExecute') throw new Error('connectors are given tool.execute alone');
  const link = connection.link();
  if (link === undefined) return { kind: 'unreached', reason: 'the server is away' };
  const onProgress = progressOf(leaseToken, report);
  const call = {
    serverName,
    arguments: argumentsText(kind.value),
    traceContext: dispatch.traceContext,
    signal,
    onProgress,
    words: connection.words,
  };
  const first = await callServer(link.client, call);
  if (first.kind === 'unreached') connection.drop(link, first.reason);
  if (first.kind !== 'session_dropped') return first;
  if (!link.transport.hasSession()) return notFound();
  const reopened = await connection.reopen(link);
  if (reopened.kind === 'failed') return { kind: 'unreached', reason: reopened.reason };
  if (signal.aborted) return { kind: 'cancelled' };
  // Once is enough: a server that drops its sessions all the time is not called in a circle.
  const second = await callServer(reopened.link.client, call);
  return second.kind === 'session_dropped' ? notFound() : second;
}

function notFound(): RunEnd {
  const error = failure('tool_error', 'The server answered with HTTP 404.');
  return { kind: 'failure', failure: { ...error, code: 'connector_error' } };
}

/** The text, or what repair made of it (1.7). */
function argumentsText({ arguments: text, input }: ToolExecute): string {
  const repaired = input?.status.case === 'valid' ? input.status.value.repairedJson : undefined;
  return repaired ?? (text.trim() === '' ? '{}' : text);
}

/** A server's progress as one of ours, which never goes back (Progress.completed). */
function progressOf(leaseToken: string, report: (progress: Progress) => void) {
  let completed = Number.NEGATIVE_INFINITY;
  return ({
    progress,
    total,
    message = '',
  }: {
    progress: number;
    total?: number | undefined;
    message?: string | undefined;
  }) => {
    completed = Math.max(completed, progress);
    const activity = message.toWellFormed().slice(0, MAX_LABEL_CHARS);
    report(
      create(ProgressSchema, { leaseToken, completed, activity, ...(total === undefined ? {} : { total }) }),
    );
  };
}
