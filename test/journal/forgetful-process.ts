/** A process that appends, and ends without closing its journal. */
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { appendOf, keyOf } from '../contract/session-events.ts';

const journal = await openSqliteJournal({ path: process.argv[2] ?? '' });
await journal.append([appendOf(keyOf('a'), 0, 2)]);
