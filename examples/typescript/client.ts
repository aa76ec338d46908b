/** A client: node examples/typescript/client.ts [address]. It needs the worker beside it. */
import { createClient, SpindleError } from 'spindle';
import { weather } from './weather.ts';

const [, , address] = process.argv;
await using client = createClient(address === undefined ? {} : { address });

// A defined tool brings its types; a failure of the tool is an outcome.
const answer = await client.call(weather, { city: 'Tokyo', days: 2 });
if (answer.ok) console.log('weather:', answer.value.celsius.join(', '));
else console.log('weather failed:', answer.error.code, answer.error.message);

// A tool that is known by its name alone.
const wrong = await client.call('weather', { city: 3 });
if (!wrong.ok) console.log('refused:', wrong.error.code);

// What happens to a call, up to its end.
for await (const event of client.stream('countdown', { from: 3 })) {
  if (event.kind === 'progress') console.log('progress:', event.activity);
  if (event.kind === 'finished' && event.result.ok) console.log('countdown:', event.result.text);
}

// A call that is settled from outside.
const { callId } = await client.start('publish', { page: 'news' });
for await (const event of client.watch(callId)) {
  if (event.kind === 'open') console.log('settled:', await client.settle(callId, { result: 'published' }));
  if (event.kind === 'finished' && event.result.ok) console.log('publish:', event.result.text);
}

// What is refused, or does not get through, is thrown.
try {
  await client.get('no-such-call');
} catch (error) {
  if (!(error instanceof SpindleError)) throw error;
  console.log('thrown:', error.code, error.reason);
}
