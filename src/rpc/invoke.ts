import type { DescMethod } from '@bufbuild/protobuf';
import type { Tls } from '../access/tls.ts';
import { type Outcome, type Refusal, refused } from '../core/refusal.ts';
import type { Audit, Credentials, Observer } from '../engine/ports.ts';
import type { McpEndpoint } from './http/mcp-route.ts';
import type { OpenRequests } from './open-requests.ts';

/** What serving needs beside the services. */
export interface Serving {
  readonly observer: Observer;
  readonly requests: OpenRequests;
  /** What answers on the HTTP port's path for MCP; undefined where nothing does. */
  readonly mcp?: McpEndpoint | undefined;
  readonly credentials: Credentials;
  /** Absent: no record is kept. */
  readonly audit: Audit | undefined;
  /** Absent: plain text. */
  readonly tls: Tls | undefined;
  /** Names under which the HTTP port answers, beside addresses and those of loopback. */
  readonly hosts: readonly string[] | 'any';
}

/** Runs a handler. One that throws has a bug: the operator reads about it, the caller learns no more. */
export async function invoke<T>(
  method: DescMethod,
  observer: Observer,
  handle: () => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  try {
    return await handle();
  } catch (error) {
    return { ok: false, refusal: reportBug(method, observer, error) };
  }
}

/** Runs a handler as `invoke` does, and hands its outcome on. What `tell` throws is a bug as well. */
export function invokeThen<T>(
  method: DescMethod,
  observer: Observer,
  handle: () => Promise<Outcome<T>>,
  tell: (outcome: Outcome<T>) => void,
): void {
  invoke(method, observer, handle)
    .then(tell)
    .catch((error: unknown) => {
      reportBug(method, observer, error);
    });
}

/**
 * Reports what a handler threw, and says what its caller is told instead. The error's message stays out of both,
 * because it may quote an argument (9.4); its place in the code is what finds the bug.
 */
export function reportBug(method: DescMethod, observer: Observer, error: unknown): Refusal {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  observer.report('error', 'handler_failed', {
    method: nameOf(method),
    error: error instanceof Error ? error.name : typeof error,
    at: stack
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .map((line) => line.trim())
      .join('; '),
  });
  return refused('internal', `The engine failed in ${nameOf(method)}. Its log says where.`).refusal;
}

/** As gRPC names it: `spindle.v1.ToolService/CallTool`. */
export function nameOf(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}
