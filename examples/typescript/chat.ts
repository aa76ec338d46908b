/** Talks to the agents of agent-worker.ts: node examples/typescript/chat.ts [address]. */
import { createClient, defineTool } from 'spindle';
import { z } from 'zod';
import { teller } from './agents.ts';

const [address] = process.argv.slice(2);
await using client = createClient(address === undefined ? {} : { address });
const { sessions } = client;

// One turn, and what it came to. The task of the agent gives the output its type.
const result = await sessions.run(teller, 'Please pay order 7 back.');
if (result.ok) console.log('refunded:', result.output.refunded);
else console.log('failed:', result.error.code, result.error.message);

// A conversation, event by event.
const { sessionId } = await sessions.create('clerk', { metadata: { channel: 'terminal' } });
const turn = sessions.runTurn(sessionId, 'What is order 7 about? Pay it back, if it is paid.', {
  // Tools that this process runs, for the agent to call.
  clientTools: [
    defineTool({
      name: 'ask_user',
      description: 'Asks the user.',
      schema: z.object({ question: z.string() }),
      execute: ({ question }) => `${question} Yes.`,
    }),
  ],
  // What waits for a person; { deny: reason } would end the call.
  onInterrupt: ({ toolName }) => {
    console.log('approved:', toolName);
    return { resume: { approved: true } };
  },
});
for await (const event of turn) {
  switch (event.kind) {
    case 'text':
      process.stdout.write(event.text);
      break;
    case 'tool.call.requested':
      console.log('calls:', event.data.name);
      break;
    case 'turn.ended':
      console.log('ended:', event.data.outcome.case);
      break;
  }
}
