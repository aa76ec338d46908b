/** Talks to the agent of worker.ts: node examples/agent/chat.ts [ADDRESS]. One line is one turn. */
import { createInterface } from 'node:readline/promises';
import { createClient } from 'spindle';

const [address] = process.argv.slice(2);
await using client = createClient(address === undefined ? {} : { address });
const { sessions } = client;
const { sessionId } = await sessions.create('folder');

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
process.stdout.write('> ');
for (let line = await lines.next(); !line.done; line = await lines.next()) {
  if (line.value.trim() !== '') await take(line.value);
  process.stdout.write('> ');
}

async function take(text: string): Promise<void> {
  const turn = sessions.runTurn(sessionId, text, {
    async onInterrupt({ toolName }) {
      process.stdout.write(`May ${toolName} run? (y/n) `);
      const answer = await lines.next();
      const isYes = !answer.done && /^y/i.test(answer.value.trim());
      return isYes ? { resume: { approved: true } } : { deny: 'The person said no.' };
    },
  });
  for await (const event of turn) {
    if (event.kind === 'text') process.stdout.write(event.text);
    if (event.kind === 'tool.call.requested') console.log(`[${event.data.name}]`);
    if (event.kind === 'turn.ended') console.log();
  }
}
