import type { Tool as McpTool } from '@modelcontextprotocol/sdk/types.js';
import type { Tool, ToolAnnotations, ToolIcon } from '../../gen/spindle/v1/tool_pb.ts';

/** A tool as MCP clients list it. */
export function offeredTool(tool: Tool): McpTool {
  const outputSchema = outputSchemaOf(tool);
  const title = tool.annotations?.title ?? '';
  return {
    name: tool.name,
    ...(title === '' ? {} : { title }),
    description: tool.description,
    inputSchema: clientSchema(schemaOf(tool.inputSchemaJson)),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(tool.annotations === undefined ? {} : { annotations: annotationsOf(tool.annotations) }),
    ...(tool.icons.length === 0 ? {} : { icons: tool.icons.map(iconOf) }),
  };
}

/** MCP has structured results that are objects alone. Any other value is in the text. */
function outputSchemaOf({ outputSchemaJson }: Tool): McpTool['outputSchema'] {
  const schema = schemaOf(outputSchemaJson);
  return schema['type'] === 'object' ? clientSchema(schema) : undefined;
}

type JsonObject = Record<string, unknown>;

/** The engine has checked when a tool was registered that its schema is JSON (2.2), and that of arguments an object. */
function schemaOf(json: string): JsonObject {
  const schema: unknown = json.trim() === '' ? {} : JSON.parse(json);
  return isObject(schema) ? schema : {};
}

/**
 * The schema in the form that MCP asks for: the type of its root is `object`, and no property's schema is a boolean,
 * for which clients throw the whole list away. It admits the same arguments, since these are an object always.
 */
function clientSchema(schema: JsonObject): McpTool['inputSchema'] {
  const { properties, ...rest } = schema;
  const named = isObject(properties)
    ? {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, one]) => [name, asObject(one)]),
        ),
      }
    : {};
  return { ...rest, ...named, type: 'object' };
}

function asObject(schema: unknown): object {
  if (isObject(schema)) return schema;
  return schema === false ? { not: {} } : {};
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function annotationsOf(annotations: ToolAnnotations): NonNullable<McpTool['annotations']> {
  const { title, readOnly, destructive, idempotent, openWorld } = annotations;
  return {
    ...(title === '' ? {} : { title }),
    ...(readOnly === undefined ? {} : { readOnlyHint: readOnly }),
    ...(destructive === undefined ? {} : { destructiveHint: destructive }),
    ...(idempotent === undefined ? {} : { idempotentHint: idempotent }),
    ...(openWorld === undefined ? {} : { openWorldHint: openWorld }),
  };
}

function iconOf({ src, mimeType, sizes, theme }: ToolIcon): NonNullable<McpTool['icons']>[number] {
  return {
    src,
    ...(mimeType === '' ? {} : { mimeType }),
    ...(sizes.length === 0 ? {} : { sizes: [...sizes] }),
    ...(theme === 'light' || theme === 'dark' ? { theme } : {}),
  };
}
