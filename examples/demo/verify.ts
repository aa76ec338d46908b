/**
 * Judges a run of the demo from outside. It gets the ids of the calls on standard input, reads each one's end from the
 * engine, works out from the project's files what that has to be, with code of its own, and leaves with 0 only
 * if all are so.
 */
import { text } from 'node:stream/consumers';
import { createClient } from 'spindle';
import { EXPECTED } from './expectations.ts';
import { type CallsMade, type Finding, STEPS } from './record.ts';

const made: CallsMade = JSON.parse(await text(process.stdin));
const client = createClient({ address: made.address });

for (const step of STEPS) {
  const finding = await EXPECTED[step]({
    client,
    workspace: made.workspace,
    callIds: made.calls[step] ?? [],
  }).then(
    (detail): Finding => ({ step, ok: true, detail }),
    (error: unknown): Finding => ({
      step,
      ok: false,
      detail: error instanceof Error ? error.message : String(error),
    }),
  );
  console.log(JSON.stringify(finding));
  if (!finding.ok) process.exitCode = 1;
}
await client.close();
