/** Opens what an engine keeps, in memory or in a folder; SQLite and its thread are loaded only where they are used. */
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { AUDIT_FOLDER } from './access/audit-files.ts';
import { ADMINISTRATOR_FILE } from './access/secret.ts';
import type { Blobs, Clock, Journal, Observer, TokenStore } from './engine/ports.ts';
import { parseJournalUrl } from './journal/url.ts';
import { StartError } from './start-error.ts';

/** What an engine keeps, and where. */
export interface Store {
  readonly journal: Journal;
  readonly blobs: Blobs;
  /** Makes resume tokens that an engine on the same data accepts after a restart (5.8). */
  readonly secret: Uint8Array;
  /** The folder for what is kept about connectors; undefined where nothing is kept. */
  readonly connectors: string | undefined;
  readonly tokens: TokenStore;
  /** What administrators present; on disk, so that whoever reads the journal may say who connects. */
  readonly administratorKey: Uint8Array;
  /** The folder of the audit record; undefined where nothing is kept. */
  readonly auditDirectory: string | undefined;
  close(): Promise<void>;
}

/** Rejects with a StartError, or with what the journal said. */
export async function openStore(url: string, observer: Observer, { now }: Clock): Promise<Store> {
  const parsed = parseJournalUrl(url);
  if (!parsed.ok) throw new StartError('option', parsed.reason);
  const place = parsed.url;
  if (place.kind === 'memory') {
    const { createMemoryJournal } = await import('./journal/memory.ts');
    const { createMemoryBlobs } = await import('./journal/memory-blobs.ts');
    const { createMemoryTokens } = await import('./journal/memory-tokens.ts');
    return closable({
      journal: createMemoryJournal(),
      blobs: createMemoryBlobs({ now }),
      secret: randomBytes(SECRET_BYTES),
      tokens: createMemoryTokens(),
      administratorKey: randomBytes(SECRET_BYTES),
      connectors: undefined,
      auditDirectory: undefined,
    });
  }
  const { openSqliteJournal } = await import('./journal/sqlite.ts');
  const { openFileBlobs } = await import('./journal/file-blobs.ts');
  const { rejectEmptied } = await import('./journal/emptied.ts');
  const blobsDirectory = join(dirname(place.path), 'blobs');
  const keyFile = join(dirname(place.path), 'resume.key');
  await rejectEmptied(place.path, [blobsDirectory, keyFile]);
  const journal = await openSqliteJournal({ path: place.path, observer });
  try {
    const { keptSecret } = await import('./journal/kept-secret.ts');
    const blobs = await openFileBlobs({ directory: blobsDirectory, now });
    const secret = await keptSecret(keyFile, randomBytes(SECRET_BYTES));
    const administratorFile = join(dirname(place.path), ADMINISTRATOR_FILE);
    const administratorKey = await keptSecret(administratorFile, randomBytes(SECRET_BYTES));
    const connectors = join(dirname(place.path), 'connectors');
    const auditDirectory = join(dirname(place.path), AUDIT_FOLDER);
    return closable({
      journal,
      blobs,
      secret,
      tokens: journal.tokens,
      administratorKey,
      connectors,
      auditDirectory,
    });
  } catch (error) {
    await journal.close();
    throw error;
  }
}

function closable(store: Omit<Store, 'close'>): Store {
  const { journal, blobs } = store;
  return {
    ...store,
    async close() {
      await journal.close();
      await blobs.close();
    },
  };
}

const SECRET_BYTES = 32;
