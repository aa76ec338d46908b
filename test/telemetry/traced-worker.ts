/** A worker whose process traces, as its author would set it up. Started by handler-spans.test.ts, not imported. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { createWorker, defineTool } from '../../src/sdk/worker/index.ts';

const storage = new AsyncLocalStorage<Context>();
const manager: ContextManager = {
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (active, run, that, ...args) => storage.run(active, () => run.call(that as never, ...args)),
  bind: (_, target) => target,
  enable: () => manager,
  disable: () => manager,
};
context.setGlobalContextManager(manager);
const provider = new TracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'traced-worker' }),
  spanProcessors: [new SimpleSpanProcessor({ exporter: new OTLPTraceExporter() })],
});
trace.setGlobalTracerProvider(provider);

const good = defineTool({
  name: 'good',
  description: 'Succeeds.',
  async execute() {
    return trace.getTracer('of the author').startActiveSpan('look it up', async (span) => {
      await new Promise(setImmediate);
      span.end();
      return 'found';
    });
  },
});
const bad = defineTool({
  name: 'bad',
  description: 'Fails.',
  execute() {
    throw new Error('no');
  },
});
const worker = createWorker({ address: process.argv[2] ?? '', tools: [good, bad] });
worker.ready.then(() => process.send?.('ready'), console.error);
await worker.run();
await provider.shutdown();
process.disconnect();
