/**
 * Loaded into every process before its program, which need not know of it: ends the process with the one that
 * started it, so that nothing outlives a test that was killed, and measures it when it is told to.
 */
import { flushCompileCache } from 'node:module';
import { onOrder, tell } from './reports.ts';

onOrder(({ kind }) => {
  if (kind === 'measure') measure();
});
process.on('disconnect', () => process.exit(1));
// It keeps no program running that is done.
process.channel?.unref();

/** A process that is killed does not write what it compiled; then each successor would take twice as long to start. */
const FLUSH_AFTER_MS = 500;
setTimeout(flushCompileCache, FLUSH_AFTER_MS).unref();

/** Twice: what finalizers let go of is collected by the second. Needs --expose-gc. */
function measure(): void {
  globalThis.gc?.();
  setImmediate(() => {
    globalThis.gc?.();
    const { heapUsed, rss } = process.memoryUsage();
    tell({
      kind: 'measured',
      heapBytes: heapUsed,
      rssBytes: rss,
      resources: process.getActiveResourcesInfo().length,
      listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    });
  });
}
