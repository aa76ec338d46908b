/**
 * A process that appends to eight sessions of a journal until it is killed or the journal refuses. For each
 * append that was acknowledged it writes a line `session sequence`, and at the end a line of JSON that says why.
 */
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { appendOf, collect, keyOf } from '../contract/session-events.ts';

const SESSIONS = 8;

/** Writing to a pipe is synchronous, so a line that was said has left this process before it is killed. */
function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const journal = await openSqliteJournal({ path: process.argv[2] ?? '' });

async function appendTo(sessionId: string): Promise<never> {
  let sequence = (await collect(journal.read(keyOf(sessionId), 0))).length;
  for (;;) {
    const count = 1 + (sequence % 3);
    const [outcome] = await journal.append([appendOf(keyOf(sessionId), sequence, count)]);
    if (outcome?.kind !== 'appended') throw new Error(`a conflict in ${sessionId} without a rival`);
    sequence += count;
    say(`${sessionId} ${sequence}`);
  }
}

const sessions = Array.from({ length: SESSIONS }, (_, index) => appendTo(`s${index}`));
const ends = await Promise.allSettled(sessions);
const after = await Promise.allSettled([
  journal.append([appendOf(keyOf('later'), 0)]),
  collect(journal.read(keyOf('s0'), 0)),
  journal.list({ tenant: 'acme', kind: 'call', subject: 'ann', onlyUnfinished: false, limit: 1 }),
]);
await journal.close();
const reasons = (settled: readonly PromiseSettledResult<unknown>[]) =>
  settled.map((end) => (end.status === 'rejected' ? end.reason : 'resolved'));
const told = ({ kind, written, message }: Record<string, unknown>) => ({ kind, written, message });
say(JSON.stringify({ ends: reasons(ends).map(told), after: reasons(after).map(told) }));
