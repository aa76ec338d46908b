import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import type { CallToolRequest, CallToolResponse, CallUpdate } from '../../gen/spindle/v1/tool_service_pb.ts';

/** Why a request was refused, or did not get through: a Refusal, or what the engine's client says. */
export interface SourceRefusal {
  /** For programs (4.8). */
  readonly reason: string;
  readonly message: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export type Sourced<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: SourceRefusal };

/** Tools as one caller sees them: of the engine in this process, or of one that is reached by its client. */
export interface ToolSource {
  /** Every tool on offer, sorted by name. */
  tools(): Promise<Sourced<readonly Tool[]>>;
  /** Finds tools by what they do, best first. */
  search(
    query: string,
    maxMatches: number,
  ): Promise<Sourced<{ readonly tools: readonly Tool[]; readonly leftOut: number }>>;
  /**
   * Makes a direct call under the request's own id, and waits for its end. The signal ends the wait, never the
   * call (4.10); the promise then settles in any way.
   */
  call(
    request: CallToolRequest,
    heard: (update: CallUpdate) => void,
    signal: AbortSignal,
  ): Promise<Sourced<CallToolResponse>>;
  /** Stops a call (4.10). */
  cancel(callId: string, reason: string): Promise<Sourced<unknown>>;
  /** The bytes of a blob reference's uri. Reading them throws where they are damaged. */
  readBlob(uri: string): Promise<Sourced<AsyncIterable<Uint8Array>>>;
  /** Says when the tools have changed, until the result is called. */
  watch(changed: () => void): () => void;
}
