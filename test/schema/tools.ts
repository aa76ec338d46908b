import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type SchemaViolation, type ToolInput, ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import type { Definition } from '../../src/schema/definition.ts';
import { createSchemas, type Schemas } from '../../src/schema/schemas.ts';

type ToolFields = Omit<MessageInitShape<typeof ToolSchema>, '$typeName'>;

/** A tool of these fields, defined; a refusal is a failure of the test. */
export function definedTool(schemas: Schemas, fields: ToolFields): Definition {
  const defined = schemas.define(create(ToolSchema, { name: 'tool', ...fields }));
  if (defined.kind === 'refused') throw new Error(defined.reason);
  return defined.definition;
}

/** Why a tool of these fields is refused; undefined where it is not. */
export function refusal(fields: ToolFields): string | undefined {
  const defined = createSchemas().define(create(ToolSchema, { name: 'tool', ...fields }));
  return defined.kind === 'refused' ? defined.reason : undefined;
}

export interface Summary {
  readonly status: string;
  readonly value_json?: string;
  readonly repairs: readonly string[];
  readonly violations: readonly SchemaViolation[];
  readonly error?: string;
}

/** A verdict in one flat shape, with the value's text wherever it comes from. */
export function summary({ status }: ToolInput, text: string): Summary {
  if (status.case === 'malformed')
    return { status: 'malformed', repairs: [], violations: [], error: status.value.error };
  if (status.case === undefined) return { status: 'none', repairs: [], violations: [] };
  const { repairedJson, repairs } = status.value;
  const violations = status.case === 'invalid' ? status.value.violations : [];
  return { status: status.case, value_json: repairedJson ?? text, repairs, violations };
}

/** Checks a text against a schema with a fresh engine's eyes. */
export function check(
  schema: unknown,
  text: string,
  options: { readonly repair?: boolean; readonly stoppedForLength?: boolean } = {},
): Summary {
  const schemas = createSchemas();
  const definition = definedTool(schemas, {
    inputSchemaJson: schema === undefined ? '' : JSON.stringify(schema),
  });
  const { repair = false, stoppedForLength = false } = options;
  return summary(schemas.checkArguments(definition, text, { repair, stoppedForLength }), text);
}
