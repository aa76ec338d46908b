import type { Command } from 'commander';
import { defineAuditVerify } from './audit-verify.ts';
import { addConnectionOptions } from './connection.ts';
import { sequenceOption } from './option-value.ts';
import { oneLine } from './style.ts';
import { type TokenFlags, withAdministrator } from './token-access.ts';

interface AuditFlags extends TokenFlags {
  readonly after?: number;
}

const HELP = `
With the token of an operator it is what its tenant did; for whoever reads the engine's
files, what everybody did. It holds no value of an argument, a result or a credential.

Examples:
  spindle audit --json > audit.jsonl
  spindle audit --after 1200
  spindle audit verify
`;

export function defineAudit(command: Command): void {
  addConnectionOptions(command)
    .description('Writes the record of who did what, oldest first, up to what there is.')
    .option('--after <sequence>', 'only entries behind this one', sequenceOption)
    .option('--journal <url>', 'the journal of the engine, where there is no token')
    .addHelpText('after', HELP)
    .action(audit);
  defineAuditVerify(command.command('verify'));
}

async function audit(flags: AuditFlags): Promise<void> {
  await withAdministrator(flags, async (administrator) => {
    for await (const entry of administrator.audit(flags.after)) {
      const { sequence, at, tenant, subject, role, method, callId, sessionId, name, outcome } = entry;
      const about = [name, callId, sessionId].filter((text) => text !== '').join(' ');
      const who = `${tenant}/${subject} (${role || 'unknown'})`;
      const line =
        flags.json === true
          ? JSON.stringify(entry)
          : oneLine(`${sequence} ${at.toISOString()} ${who} ${method} ${about} ${outcome}`);
      process.stdout.write(`${line}\n`);
    }
  });
}
