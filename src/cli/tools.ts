import type { Command } from 'commander';
import { addConnectionOptions, type ConnectionFlags, withClient } from './connection.ts';
import { countOption } from './option-value.ts';
import { signatureOf } from './signature.ts';
import { oneLine, styled, table } from './style.ts';

interface ToolsFlags extends ConnectionFlags {
  readonly search?: string;
  readonly max: number;
  readonly diagnose?: boolean;
}

const HELP = `
Examples:
  spindle tools                      every tool that a worker has offered
  spindle tools 'github_*' 'jira_*'  by globs over names
  spindle tools --search 'send mail' by what they do, best first
  spindle tools weather --json       with its schemas
  spindle tools --diagnose           what providers are not told of schemas
`;

export function defineTools(command: Command): void {
  addConnectionOptions(command)
    .description('Lists the tools on offer, with how many workers serve each and what arguments it takes.')
    .argument('[globs...]', 'only tools whose names match one of them')
    .option('--search <words>', 'find tools by what they do, best first')
    .option('--max <n>', 'the most matches of a search', countOption, 5)
    .option('--diagnose', 'show what each kind of model provider is not told of their schemas')
    .addHelpText('after', HELP)
    .action(tools);
}

interface Row {
  readonly name: string;
  readonly description: string;
  readonly inputSchemaJson: string;
  readonly outputSchemaJson: string;
  readonly strict: boolean;
  /** Unknown for what a search finds. */
  readonly workers?: number;
}

async function tools(globs: readonly string[], flags: ToolsFlags): Promise<void> {
  const { search, max, json } = flags;
  const { rows, leftOut } = await withClient(flags, async (client) => {
    if (search !== undefined) {
      const found = await client.search(search, { maxMatches: max });
      return { rows: found.tools as readonly Row[], leftOut: found.leftOut };
    }
    const served = await client.tools(globs);
    const rows = served.flatMap(({ tool, workers }): Row[] =>
      tool === undefined ? [] : [{ ...tool, workers }],
    );
    return { rows, leftOut: 0 };
  });
  if (json === true && flags.diagnose !== true) {
    process.stdout.write(`${JSON.stringify(rows.map(toolJson))}\n`);
    return;
  }
  if (rows.length === 0 && json !== true) {
    const text =
      globs.length > 0 || search !== undefined
        ? 'No tool matches.'
        : 'No worker has offered a tool yet. Run one: spindle worker FILE';
    process.stderr.write(`${styled(process.stderr, 'dim', text)}\n`);
    return;
  }
  if (flags.diagnose === true) {
    const { diagnose, diagnosisText } = await import('./diagnose.ts');
    const found = diagnose(rows);
    process.stdout.write(`${json === true ? JSON.stringify(found) : diagnosisText(found)}\n`);
    return;
  }
  const cells = rows.map(({ name, description, inputSchemaJson, workers }) => [
    `${name}${signatureOf(inputSchemaJson)}`,
    ...(workers === undefined ? [] : [String(workers)]),
    oneLine(description),
  ]);
  const head = search === undefined ? ['TOOL', 'WORKERS', 'WHAT IT DOES'] : ['TOOL', 'WHAT IT DOES'];
  process.stdout.write(`${table([head, ...cells], process.stdout)}\n`);
  if (leftOut > 0)
    process.stderr.write(`${styled(process.stderr, 'dim', `${leftOut} more match: --max shows them`)}\n`);
}

function toolJson({ name, description, inputSchemaJson, outputSchemaJson, workers }: Row): object {
  return {
    name,
    description,
    ...(workers === undefined ? {} : { workers }),
    ...schema('inputSchema', inputSchemaJson),
    ...schema('outputSchema', outputSchemaJson),
  };
}

/** The engine has checked that a schema is JSON when it was registered (2.2). */
function schema(member: string, json: string): object {
  return json === '' ? {} : { [member]: JSON.parse(json) };
}
