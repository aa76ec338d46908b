import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { createEngine, type EngineOptions, type RunningEngine } from '../../src/main.ts';
import { openClient, type RawClient } from './raw-client.ts';
import { connectWorker, type HelloInit, helloOf, type RawWorker } from './raw-worker.ts';

export interface Report {
  readonly level: string;
  readonly event: string;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** A whole engine on ports of loopback, with a raw client, and what it told its operator. */
export interface TestEngine extends AsyncDisposable {
  readonly running: RunningEngine;
  readonly address: string;
  /** The base of the HTTP port. */
  readonly url: string;
  readonly client: RawClient;
  readonly reports: readonly Report[];
  /** A raw worker of a process of its own, ready for dispatches. */
  worker(tools: readonly MessageInitShape<typeof ToolSchema>[], hello?: HelloInit): Promise<RawWorker>;
}

export async function openEngine(options: EngineOptions = {}): Promise<TestEngine> {
  const reports: Report[] = [];
  const running = await createEngine({
    journal: 'memory:',
    listen: '127.0.0.1:0',
    http: '127.0.0.1:0',
    observer: { report: (level, event, facts) => reports.push({ level, event, facts }) },
    ...options,
  });
  const client = openClient(running.grpcAddress);
  const workers: RawWorker[] = [];
  return {
    running,
    address: running.grpcAddress,
    url: `http://${running.httpAddress}`,
    client,
    reports,
    async worker(tools, hello) {
      const worker = await connectWorker(running.grpcAddress, helloOf(tools, hello));
      workers.push(worker);
      return worker;
    },
    async [Symbol.asyncDispose]() {
      for (const worker of workers) worker.vanish();
      client.close();
      await running.stop(0);
    },
  };
}
