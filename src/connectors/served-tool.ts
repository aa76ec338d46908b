import { createHash } from 'node:crypto';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Tool as McpTool, ToolSchema as McpToolSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  InvalidInputHandling,
  type Tool,
  type ToolAnnotationsSchema,
  ToolHandler,
  ToolSchema,
} from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_CONNECTOR_DESCRIPTION_CHARS } from '../core/limits.ts';
import { toolNameOf } from './tool-name.ts';

export interface ServedTool {
  /** Its name on the server. */
  readonly serverName: string;
  readonly tool: Tool;
  /** Of what the server says about it: the same as long as nothing changed. */
  readonly fingerprint: string;
}

export type ReadTool =
  | { readonly kind: 'tool'; readonly served: ServedTool }
  | { readonly kind: 'refused'; readonly name: string; readonly reason: string };

export interface NamingOptions {
  readonly connectorId: string;
  readonly prefix: boolean;
  readonly trusted: boolean;
}

/** A tool as a server lists it, as one of ours. */
export function readServedTool(listed: unknown, options: NamingOptions): ReadTool {
  const parsed = McpToolSchema.safeParse(listed);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const place = issue?.path.join('.') ?? '';
    return {
      kind: 'refused',
      name: nameOf(listed),
      reason: `it is no tool as MCP defines one${place === '' ? '' : `, at ${place}`}: ${issue?.message ?? ''}`,
    };
  }
  const { data } = parsed;
  const refuse = (reason: string): ReadTool => ({ kind: 'refused', name: data.name, reason });
  if (data.execution?.taskSupport === 'required')
    return refuse('it runs as a task alone, which Spindle does not speak');
  if ((data.description ?? '').length > MAX_CONNECTOR_DESCRIPTION_CHARS)
    return refuse(`its description is longer than ${MAX_CONNECTOR_DESCRIPTION_CHARS} characters`);
  const served = { serverName: data.name, tool: toolOf(data, options), fingerprint: fingerprintOf(data) };
  return { kind: 'tool', served };
}

function toolOf(tool: McpTool, { connectorId, prefix, trusted }: NamingOptions): Tool {
  const { name, description = '', inputSchema, outputSchema, icons = [] } = tool;
  return create(ToolSchema, {
    name: toolNameOf(connectorId, name, prefix),
    description,
    inputSchemaJson: JSON.stringify(inputSchema),
    outputSchemaJson: outputSchema === undefined ? '' : JSON.stringify(outputSchema),
    handler: ToolHandler.CONNECTOR,
    namespace: connectorId,
    annotations: annotationsOf(tool, trusted),
    // Nobody at the server could answer for arguments that do not match (1.2).
    invalidInputHandling: InvalidInputHandling.ENGINE,
    icons: icons.map(({ src, mimeType = '', sizes = [], theme = '' }) => ({ src, mimeType, sizes, theme })),
  });
}

function annotationsOf(
  { title, annotations = {} }: McpTool,
  trusted: boolean,
): MessageInitShape<typeof ToolAnnotationsSchema> {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  return {
    title: title ?? annotations.title ?? '',
    untrusted: !trusted,
    ...(readOnlyHint === undefined ? {} : { readOnly: readOnlyHint }),
    ...(destructiveHint === undefined ? {} : { destructive: destructiveHint }),
    ...(idempotentHint === undefined ? {} : { idempotent: idempotentHint }),
    ...(openWorldHint === undefined ? {} : { openWorld: openWorldHint }),
  };
}

/** What a person approves: what a model reads, what is sent, and what the server promises of it. */
function fingerprintOf({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
}: McpTool): string {
  const approved = [
    name,
    title ?? '',
    description ?? '',
    inputSchema,
    outputSchema ?? null,
    annotations ?? null,
  ];
  return createHash('sha256')
    .update(JSON.stringify(sorted(approved)))
    .digest('hex');
}

/** The same value with its keys in order: a server may write them in any. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

function nameOf(listed: unknown): string {
  const isNamed = typeof listed === 'object' && listed !== null && 'name' in listed;
  return isNamed && typeof listed.name === 'string' ? listed.name : '';
}
