import type { Command } from 'commander';
import { CommandError } from './command-error.ts';
import { configured } from './connection.ts';
import { EXIT } from './exit-code.ts';
import { DEFAULT_JOURNAL } from './token-access.ts';

interface VerifyFlags {
  readonly journal?: string;
  readonly config?: string;
  readonly head?: string;
  readonly json?: boolean;
}

const HELP = `
Each line of the record holds the SHA-256 of the one before it, so a line that was changed, removed
or added shows. Cutting the end leaves no trace: note the head that this prints somewhere else, and
give it to a later run. Exits with 1 where something is wrong.

Examples:
  spindle audit verify --journal sqlite:/var/lib/spindle/spindle.db
  spindle audit verify --head 4f0c…
`;

export function defineAuditVerify(command: Command): void {
  command
    .description('Looks whether the record is as it was written. It needs the files of the engine.')
    .option('--journal <url>', 'the journal beside which the record is (default: as for serve)')
    .option('--config <file>', 'a TOML file with settings (default: SPINDLE_CONFIG)')
    .option('--head <digest>', 'a head that was noted earlier, and has to be in the record')
    .option('--json', 'output for programs')
    .addHelpText('after', HELP)
    // `audit` has some of these options as well, and takes them where they stand behind either name.
    .action((_flags: unknown, self: Command) => verify(self.optsWithGlobals<VerifyFlags>()));
}

async function verify({ journal, config: file, head, json = false }: VerifyFlags): Promise<void> {
  const config = configured({ file, flags: {} }, () => undefined);
  const { verifyRecord } = await import('../administration.ts');
  const looked = await verifyRecord(journal ?? config.journal ?? DEFAULT_JOURNAL, head);
  if (!looked.ok) throw new CommandError(EXIT.usage, 'usage', looked.refusal.message);
  const verdict = looked.value;
  const { entries, torn, faults } = verdict;
  if (json) process.stdout.write(`${JSON.stringify(verdict)}\n`);
  else {
    for (const fault of faults) process.stdout.write(`${fault}\n`);
    const cut = torn === 0 ? '' : `, ${torn} torn lines`;
    process.stdout.write(`${entries} entries${cut}, ${faults.length} faults. Head: ${verdict.head}\n`);
  }
  if (faults.length > 0) process.exitCode = EXIT.toolFailed;
}
