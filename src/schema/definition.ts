import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';

/** `sha256-` and 64 hexadecimal digits. */
export type Digest = string;

/** A tool's definition that was accepted (2.2). */
export interface Definition {
  /** As registered. */
  readonly tool: Tool;
  /** Of `bytes`. */
  readonly digest: Digest;
  /** The message's encoding in the order of its fields; stored once, under the digest (7.5). */
  readonly bytes: Uint8Array;
  /** What is not enforced although its author may think so, for operators. */
  readonly remarks: readonly string[];
}

export type Defined =
  | { readonly kind: 'defined'; readonly definition: Definition }
  /** The tool is quarantined; the reason names it, the place and the keyword, and says what to do. */
  | { readonly kind: 'refused'; readonly reason: string };
