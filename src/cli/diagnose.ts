import { traitsOf } from '../models/provider-traits.ts';
import { createToolNames } from '../models/tool-names.ts';
import type { ProfileKind } from '../schema/projection/profile.ts';
import { project } from '../schema/projection/project.ts';

const KINDS: readonly ProfileKind[] = ['anthropic', 'openai', 'openai-chat', 'openai-compatible', 'google'];

export interface DiagnosedTool {
  readonly name: string;
  readonly inputSchemaJson: string;
  readonly strict: boolean;
}

/** What becomes of one tool at one kind of provider (2.6, 6.6). */
export interface Diagnosis {
  readonly tool: string;
  readonly provider: ProfileKind;
  /** The name that the provider gets. */
  readonly sentAs: string;
  /** The provider enforces the schema while the model writes. */
  readonly strict: boolean;
  /** Why requests go without the tool; undefined where they do not. */
  readonly leftOut: string | undefined;
  /** What the provider is not told; the engine enforces it all the same. */
  readonly notes: readonly string[];
}

/** What each kind of provider is told about tools. */
export function diagnose(tools: readonly DiagnosedTool[]): readonly Diagnosis[] {
  const names = tools.map(({ name }) => name);
  return KINDS.flatMap((provider) => {
    const mapping = createToolNames(names, traitsOf(provider, provider).toolName);
    return tools.map(({ name, inputSchemaJson, strict: wanted }): Diagnosis => {
      const of = { tool: name, provider, sentAs: mapping.toProvider(name) };
      const projection = project(provider, inputSchemaJson, wanted);
      if (projection.kind === 'impossible') {
        return { ...of, strict: false, leftOut: projection.reason, notes: [] };
      }
      const { strict, notes } = projection.projected;
      return { ...of, strict, leftOut: undefined, notes };
    });
  });
}

/** For people: each tool, and under it who is told less than its schema says, equal words once. */
export function diagnosisText(diagnoses: readonly Diagnosis[]): string {
  return [...Map.groupBy(diagnoses, ({ tool }) => tool)]
    .map(([tool, each]) => {
      const lines = [...Map.groupBy(each, wordsOf)].flatMap(([words, same]) => {
        if (words === '') return [];
        const who = same.map(({ provider }) => provider).join(', ');
        return [`  ${who}`, ...words.split('\n').map((line) => `    ${line}`)];
      });
      return lines.length === 0 ? `${tool}\n  is told whole to every provider` : [tool, ...lines].join('\n');
    })
    .join('\n\n');
}

function wordsOf({ tool, sentAs, leftOut, notes }: Diagnosis): string {
  if (leftOut !== undefined) return `left out of requests: ${leftOut}`;
  return [...(sentAs === tool ? [] : [`sent as ${sentAs}`]), ...notes].join('\n');
}
