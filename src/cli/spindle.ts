#!/usr/bin/env node
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { EXIT } from './exit-code.ts';

// Else V8 decides from the calls that happen to be in flight at an early collection that what a call makes lives
// long, and makes it among the old objects, where it keeps alive what it refers to (docs/performance.md). First of
// all, because compiled code is kept for these flags alone.
setFlagsFromString('--no-allocation-site-pretenuring');

// Compiled code is kept in the system's folder for temporary files: a command then starts in a third of the time.
enableCompileCache();
// Threads, the journal's for one, learn of it in this way alone.
const cache = getCompileCacheDir();
if (cache !== undefined) process.env['NODE_COMPILE_CACHE'] ??= cache;
// Whoever reads our output may stop reading, as `head` does: that is no fault, and says nothing about a call.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(
    `spindle: The output cannot be written: ${error.message}. What was asked for has been done.\n`,
  );
  process.exit(EXIT.outputLost);
});
const { run } = await import('./command-line.ts');
process.exitCode = await run(process.argv.slice(2));
