/** Calls a tool and watches it: run caller NAME [JSON]. SPINDLE_ADDRESS names the engine. */
import { createClient } from 'spindle';

const [name = '', json = '{}'] = process.argv.slice(2);
await using client = createClient({ address: process.env['SPINDLE_ADDRESS'] ?? '127.0.0.1:7433' });
for await (const event of client.stream(name, { rawArguments: json })) {
  if (event.kind === 'progress') console.error(event.activity);
  if (event.kind !== 'finished') continue;
  if (!event.result.ok) throw new Error(`${event.result.error.code}: ${event.result.error.message}`);
  console.log(event.result.text);
}
