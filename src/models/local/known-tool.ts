import { createHash } from 'node:crypto';
import type { Tool } from '../../../gen/spindle/v1/tool_pb.ts';
import { MAX_LOCAL_SCHEMAS } from '../../core/limits.ts';
import { checkArguments } from '../../schema/arguments.ts';
import { createCache } from '../../schema/cache.ts';
import { compileSchema, type Validator } from '../../schema/compile.ts';
import { isJsonObject, ownValue } from '../../schema/json-value.ts';
import type { Plain } from '../../schema/plain.ts';
import type { PlainObject } from '../../schema/plain-schema.ts';
import { type Form, formsOf, type Slot } from './forms.ts';
import { type Deed, deedOf } from './synonyms.ts';
import { nameStems, spaced, wordsOf } from './words.ts';

/** A tool as the local model sees it: what it is called, what it says, and what its arguments can look like. */
export interface KnownTool {
  readonly name: string;
  readonly description: string;
  readonly nameStems: readonly string[];
  readonly descriptionStems: ReadonlySet<string>;
  readonly namespaceStems: ReadonlySet<string>;
  /** Undefined where any object is valid. */
  readonly plain: Plain | undefined;
  readonly forms: readonly Form[];
  readonly slots: readonly Slot[];
  /** Values that one form or another of the arguments always has, such as the tags of a union. */
  readonly fixed: readonly unknown[];
  /** What its result has, by the stems of each name; none where it declares no output schema. */
  readonly outputs: readonly (readonly string[])[];
  /** By its name, else by its description; undefined where neither says. */
  readonly deed: Deed | undefined;
  readonly destructive: boolean;
  readonly readOnly: boolean;
  /** Whether the engine would call these arguments valid (1.2). */
  accepts(json: string): boolean;
  /** What is wrong with arguments that are not accepted, most specific first. */
  explain(value: unknown): readonly Violation[];
}

/** One thing that is wrong with arguments, in the words of explainInput (1.9). */
export interface Violation {
  /** JSON Pointer; empty for the root. */
  readonly instancePath: string;
  readonly message: string;
}

export interface KnownTools {
  /** Undefined for a tool whose schema nobody can compile: no call of it could be checked. */
  know(tool: Pick<Tool, 'name' | 'description' | 'inputSchemaJson'> & Partial<Tool>): KnownTool | undefined;
}

/** Remembers what it found out about definitions, by their content. */
export function createKnownTools(): KnownTools {
  const cache = createCache<{ readonly known: KnownTool | undefined }>(MAX_LOCAL_SCHEMAS);
  return {
    know(tool) {
      const { name, description, inputSchemaJson, outputSchemaJson = '', namespace = '' } = tool;
      const { readOnly, destructive } = tool.annotations ?? {};
      const content = JSON.stringify([
        name,
        description,
        inputSchemaJson,
        outputSchemaJson,
        namespace,
        readOnly,
        destructive,
      ]);
      const key = createHash('sha256').update(content).digest('hex');
      return cache.fetch(key, () => ({ known: study(tool) })).known;
    },
  };
}

function study(tool: Parameters<KnownTools['know']>[0]): KnownTool | undefined {
  const { name, description, inputSchemaJson, outputSchemaJson = '' } = tool;
  const compiled = inputSchemaJson.trim() === '' ? undefined : compileSchema(inputSchemaJson);
  if (compiled?.kind === 'faulty') return undefined;
  const validator = compiled?.validator;
  const forms: readonly Form[] =
    validator === undefined
      ? [{ kind: 'object', members: [] }]
      : formsOf(validator.plain, notesOf(validator, JSON.parse(inputSchemaJson)));
  const stems = nameStems(name.includes('__') ? name.slice(name.indexOf('__') + 2) : name);
  const descriptionWords = wordsOf(spaced(description)).map(({ stem }) => stem);
  const namespaced = `${tool.namespace ?? ''} ${tool.namespaceDescription ?? ''} ${name}`;
  return {
    name,
    description,
    nameStems: stems,
    descriptionStems: new Set(descriptionWords),
    namespaceStems: new Set(nameStems(namespaced)),
    plain: validator?.plain,
    forms,
    slots: forms.flatMap(slotsIn),
    fixed: forms.flatMap(fixedIn),
    outputs: outputsOf(outputSchemaJson),
    deed: stems.map(deedOf).find((deed) => deed !== undefined) ?? deedOf(descriptionWords[0] ?? ''),
    destructive: tool.annotations?.destructive ?? false,
    readOnly: tool.annotations?.readOnly ?? false,
    accepts: (json) =>
      checkArguments(validator, json, { repair: false, stoppedForLength: false }).status.case === 'valid',
    explain: (value) => validator?.explain(value) ?? [],
  };
}

export function slotsIn(form: Form): Slot[] {
  switch (form.kind) {
    case 'fixed':
      return [];
    case 'slot':
      return [form.slot];
    case 'list':
      return slotsIn(form.item);
    case 'object':
      return form.members.flatMap((member) => slotsIn(member.form));
  }
}

export function fixedIn(form: Form): unknown[] {
  switch (form.kind) {
    case 'fixed':
      return [form.value];
    case 'slot':
      return [];
    case 'list':
      return fixedIn(form.item);
    case 'object':
      return form.members.flatMap((member) => fixedIn(member.form));
  }
}

/** Finds what an author wrote at the place that a plain schema came from. */
function notesOf({ plain }: Validator, document: unknown): Parameters<typeof formsOf>[1] {
  return (schema: PlainObject) => {
    const written = stepsOf(plain.origin.get(schema)).reduce(stepInto, document);
    if (!isJsonObject(written)) return { description: '' };
    const words = [ownValue(written, 'title'), ownValue(written, 'description')];
    const description = words.filter((each) => typeof each === 'string').join('. ');
    return Object.hasOwn(written, 'default') ? { description, default: written['default'] } : { description };
  };
}

function stepsOf(pointer: string | undefined): string[] {
  return (pointer ?? '')
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function stepInto(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return value[Number(step)];
  return isJsonObject(value) ? ownValue(value, step) : undefined;
}

/** The names of members anywhere in an output schema. */
function outputsOf(json: string): string[][] {
  if (json.trim() === '') return [];
  const compiled = compileSchema(json);
  if (compiled.kind === 'faulty') return [];
  return formsOf(compiled.validator.plain, () => ({ description: '' }))
    .flatMap(slotsIn)
    .map(({ words, context }) => [...context, ...words]);
}
