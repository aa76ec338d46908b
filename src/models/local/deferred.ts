import type { Tool } from '../../../gen/spindle/v1/tool_pb.ts';
import { TOOL_SEARCH } from '../../core/loop/reserved.ts';
import { isJsonObject } from '../../schema/json-value.ts';
import type { Clause } from './clauses.ts';
import type { MadeCall } from './conversation.ts';
import type { KnownTool, KnownTools } from './known-tool.ts';
import { isFiller, isPreposition } from './words.ts';

/** The tools that searches found, as far as their answers describe them (6.8). */
export function foundTools(calls: readonly MadeCall[], tools: KnownTools): KnownTool[] {
  const found = new Map<string, KnownTool>();
  for (const { name, outcome } of calls) {
    if (name !== TOOL_SEARCH || outcome?.kind !== 'result') continue;
    for (const definition of definitionsIn(outcome.value)) {
      const known = tools.know(definition);
      if (known !== undefined && !found.has(known.name)) found.set(known.name, known);
    }
  }
  return [...found.values()];
}

/** Objects with a name and a schema, wherever they stand in the answer. */
function* definitionsIn(
  value: unknown,
  depth = 0,
): Iterable<Pick<Tool, 'name' | 'description' | 'inputSchemaJson'>> {
  if (depth > 4) return;
  if (Array.isArray(value)) {
    for (const item of value) yield* definitionsIn(item, depth + 1);
  } else if (isJsonObject(value)) {
    const { name, description } = value;
    const schema = Object.entries(value).find(([key]) => /schema|parameters/i.test(key))?.[1];
    if (typeof name === 'string' && (isJsonObject(schema) || typeof schema === 'string')) {
      const inputSchemaJson = typeof schema === 'string' ? schema : JSON.stringify(schema);
      yield { name, description: typeof description === 'string' ? description : '', inputSchemaJson };
    } else {
      for (const member of Object.values(value)) yield* definitionsIn(member, depth + 1);
    }
  }
}

/** The arguments of a search for what a clause asks for; undefined where the tool takes no text. */
export function searchArguments(search: KnownTool, clause: Clause): string | undefined {
  return withStrings(search, [spoken(clause)]);
}

/** What is asked for in the words of the clause, since a search knows no stems; values would only mislead it. */
function spoken({ tokens, text }: Clause): string {
  const words = tokens.flatMap((token) =>
    token.kind === 'word' && !isFiller(token.stem) && !isPreposition(token.text) ? [token.text] : [],
  );
  return words.length === 0 ? text : words.join(' ');
}

/** The arguments that call a found tool through `call_tool`; undefined where its schema wants something else. */
export function wrapped(call: KnownTool, name: string, args: unknown): string | undefined {
  const nameKey =
    call.slots.find(({ path, types }) => path.length === 1 && (types === undefined || types.has('string')))
      ?.path[0] ?? 'name';
  const members = new Set(
    call.forms.flatMap((form) => (form.kind === 'object' ? form.members.map(({ key }) => key) : [])),
  );
  const argumentsKey =
    [...members].find((key) => key !== nameKey && /^(?:arg|input|param)/i.test(key)) ?? 'arguments';
  const candidates = [args, JSON.stringify(args)].map((inner) =>
    JSON.stringify(
      Object.fromEntries([
        [nameKey, name],
        [argumentsKey, inner],
      ]),
    ),
  );
  return candidates.find((json) => call.accepts(json));
}

function withStrings(tool: KnownTool, texts: readonly string[]): string | undefined {
  const key = tool.slots.find(
    ({ path, types }) => path.length === 1 && (types === undefined || types.has('string')),
  )?.path[0];
  if (key === undefined) return tool.accepts('{}') ? '{}' : undefined;
  return texts.map((text) => JSON.stringify({ [key]: text })).find((json) => tool.accepts(json));
}
