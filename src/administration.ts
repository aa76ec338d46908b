/**
 * Tokens by the files of an engine: whoever reads its journal may say who connects, also before it has ever run, and
 * when nobody has a token that would let them.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AUDIT_FOLDER } from './access/audit-files.ts';
import { ADMINISTRATOR_FILE, administratorToken } from './access/secret.ts';
import { openTokens, type Tokens } from './access/tokens.ts';
import { type AuditVerdict, verifyAudit } from './access/verify-audit.ts';
import { accepted, type Outcome, refused } from './core/refusal.ts';
import { parseJournalUrl } from './journal/url.ts';
import { systemClock, systemRandom } from './system.ts';

export type Administration =
  /** No engine runs: the tokens in its file. */
  | { readonly kind: 'file'; readonly tokens: Tokens; close(): Promise<void> }
  /** An engine has the file, and takes this bearer token for an administrator's. */
  | { readonly kind: 'running'; readonly token: string }
  /** Neither way is open; in words for an operator. */
  | { readonly kind: 'closed'; readonly reason: string };

/** Opens the tokens of a journal. Rejects with a JournalError where the file cannot be opened for another reason. */
export async function openAdministration(journalUrl: string): Promise<Administration> {
  const parsed = parseJournalUrl(journalUrl);
  if (!parsed.ok) return { kind: 'closed', reason: parsed.reason };
  if (parsed.url.kind === 'memory')
    return { kind: 'closed', reason: 'A journal in memory keeps no tokens: name a journal in a file.' };
  const { path } = parsed.url;
  const { openSqliteJournal } = await import('./journal/sqlite.ts');
  try {
    const journal = await openSqliteJournal({ path });
    const tokens = await openTokens({ store: journal.tokens, clock: systemClock(), random: systemRandom() });
    return { kind: 'file', tokens, close: () => journal.close() };
  } catch (error) {
    if (!(error instanceof Error && 'kind' in error && error.kind === 'in_use')) throw error;
    return { kind: 'running', token: await keyOf(path) };
  }
}

/** Looks at the record of who did what, whether an engine runs on the journal or not. */
export async function verifyRecord(journalUrl: string, noted?: string): Promise<Outcome<AuditVerdict>> {
  const parsed = parseJournalUrl(journalUrl);
  if (!parsed.ok) return refused('invalid_request', parsed.reason);
  if (parsed.url.kind === 'memory')
    return refused('invalid_request', 'A journal in memory keeps no record: name a journal in a file.');
  const directory = join(dirname(parsed.url.path), AUDIT_FOLDER);
  try {
    return accepted(await verifyAudit(directory, noted));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return refused('invalid_request', `The record in ${directory} cannot be read: ${why}`);
  }
}

async function keyOf(journalPath: string): Promise<string> {
  return administratorToken(await readFile(join(dirname(journalPath), ADMINISTRATOR_FILE)));
}
