import { judge } from './checker.ts';
import { transcript } from './transcript.ts';
import { live } from './world/world.ts';

const story = await live({ seed: Number(process.argv[2]) });
console.log(transcript(story.facts));
for (const x of judge(story).violations) console.log('VIOLATION', x.time, x.rule, x.what);
