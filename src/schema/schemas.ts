import { createHash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import type { ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import { type Tool, type ToolInput, ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_CACHED_VALIDATORS } from '../core/limits.ts';
import { type ArgumentOptions, checkArguments } from './arguments.ts';
import { createCache } from './cache.ts';
import { type Compilation, compileSchema, type Validator } from './compile.ts';
import type { Defined, Definition } from './definition.ts';
import { checkResult } from './output.ts';
import type { SchemaFault } from './plain.ts';
import { admitsObject } from './shape.ts';
import { toolFault } from './tool-fields.ts';
import { shortened } from './violation.ts';

/** Knows tools by their schemas, and checks what goes in and what comes out. */
export interface Schemas {
  /** Accepts a tool, or says why not (2.1 to 2.3). Takes milliseconds for each schema. */
  define(tool: Tool): Defined;
  /** The verdict on a call's arguments (1.2). Without a definition, or a schema in it, any object is valid. */
  checkArguments(definition: Definition | undefined, text: string, options: ArgumentOptions): ToolInput;
  /** What is wrong with a result by the tool's output schema, for the caller; undefined where nothing is (3.2). */
  checkOutput(definition: Definition, result: ToolResult): string | undefined;
  /** Compiled validators that are kept now. */
  readonly cachedValidators: number;
}

export interface SchemasOptions {
  /** Positive. */
  readonly maxCachedValidators?: number;
}

/** The keys of a definition's validators in the cache; undefined where there is nothing to check with. */
interface Keys {
  readonly input: string | undefined;
  readonly output: string | undefined;
}

export function createSchemas(options: SchemasOptions = {}): Schemas {
  const cache = createCache<Compilation>(options.maxCachedValidators ?? MAX_CACHED_VALIDATORS);
  // A definition is hashed once, not on every call.
  const keysOf = new WeakMap<Definition, Keys>();

  const compilation = (key: string, text: string): Compilation => cache.fetch(key, () => compileSchema(text));

  function keys(definition: Definition): Keys {
    const known = keysOf.get(definition);
    if (known !== undefined) return known;
    const { inputSchemaJson, outputSchemaJson } = definition.tool;
    const found = { input: keyOf(inputSchemaJson), output: keyOf(outputSchemaJson) };
    keysOf.set(definition, found);
    return found;
  }

  /** Undefined where a schema is absent, or was dropped when its tool was defined. */
  function validator(key: string | undefined, text: string): Validator | undefined {
    if (key === undefined) return undefined;
    const compiled = compilation(key, text);
    return compiled.kind === 'compiled' ? compiled.validator : undefined;
  }

  return {
    define(tool) {
      const refuse = (what: string): Defined => ({
        kind: 'refused',
        reason: `tool ${quote(tool.name)}: ${what}`,
      });
      const faulty = toolFault(tool);
      if (faulty !== undefined) return refuse(faulty);
      const remarks: string[] = [];
      const inputKey = keyOf(tool.inputSchemaJson);
      if (inputKey !== undefined) {
        const compiled = compilation(inputKey, tool.inputSchemaJson);
        if (compiled.kind === 'faulty') return refuse(describe('input', compiled.fault));
        const { plain } = compiled.validator;
        if (!admitsObject(plain.schema)) return refuse(describe('input', NO_OBJECT));
        remarks.push(...plain.remarks.map((remark) => `input schema: ${remark}`));
      }
      const outputKey = keyOf(tool.outputSchemaJson);
      if (outputKey !== undefined) {
        const compiled = compilation(outputKey, tool.outputSchemaJson);
        if (compiled.kind === 'faulty') {
          remarks.push(`results are not checked, because the ${describe('output', compiled.fault)}`);
        } else {
          remarks.push(...compiled.validator.plain.remarks.map((remark) => `output schema: ${remark}`));
        }
      }
      const bytes = toBinary(ToolSchema, tool);
      const definition = { tool, digest: `sha256-${sha256(bytes)}`, bytes, remarks };
      keysOf.set(definition, { input: inputKey, output: outputKey });
      return { kind: 'defined', definition };
    },
    checkArguments(definition, text, argumentOptions) {
      const schema =
        definition === undefined
          ? undefined
          : validator(keys(definition).input, definition.tool.inputSchemaJson);
      return checkArguments(schema, text, argumentOptions);
    },
    checkOutput(definition, result) {
      const schema = validator(keys(definition).output, definition.tool.outputSchemaJson);
      return schema === undefined ? undefined : checkResult(schema, result);
    },
    get cachedValidators() {
      return cache.size;
    },
  };
}

const NO_OBJECT: SchemaFault = {
  pointer: '',
  keyword: 'type',
  problem: 'admits no object, but arguments always are one: use "type": "object"',
};

function describe(which: 'input' | 'output', { pointer, keyword, problem }: SchemaFault): string {
  const place = pointer === '' ? 'the root' : shortened(pointer, 300);
  return `${which} schema, at ${place}${keyword === '' ? '' : `, keyword "${shortened(keyword)}"`}: ${problem}`;
}

function quote(name: string): string {
  return JSON.stringify(shortened(name));
}

/** Blank text is no schema. */
function keyOf(text: string): string | undefined {
  return text.trim() === '' ? undefined : sha256(text);
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
