import { onTestFinished } from 'vitest';
import type { ConnectorOptions, EngineOptions } from '../../src/main.ts';
import { type Client, createClient } from '../../src/sdk/index.ts';
import { openEngine, type Report, type TestEngine } from '../e2e/engine.ts';

export interface ConnectedEngine {
  readonly engine: TestEngine;
  readonly client: Client;
  /** Resolves with the facts of an event of the log, from now on or so far. */
  reported(event: string): Promise<Report['facts']>;
}

/** An engine with connectors, for as long as the test. Calls of their tools wait until these are known (4.11). */
export async function connectedEngine(
  connectors: Readonly<Record<string, ConnectorOptions>>,
  options: EngineOptions = {},
): Promise<ConnectedEngine> {
  const reports: Report[] = [];
  const watchers = new Set<() => void>();
  const engine = await openEngine({
    connectors,
    observer: {
      report(level, event, facts) {
        reports.push({ level, event, facts });
        for (const look of watchers) look();
      },
    },
    ...options,
  });
  const client = createClient({ address: engine.address });
  onTestFinished(async () => {
    await client.close();
    await engine[Symbol.asyncDispose]();
  });
  return {
    engine: { ...engine, reports },
    client,
    reported: (event) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = reports.find((report) => report.event === event);
          if (found === undefined) return;
          watchers.delete(look);
          resolve(found.facts);
        };
        watchers.add(look);
        look();
      }),
  };
}

/** A connector to a server of the test, on loopback. */
export function httpConnector(url: string, more: Partial<ConnectorOptions> = {}): ConnectorOptions {
  return { transport: { kind: 'http', url, allowPrivate: true }, ...more };
}

/** A connector to a program that Node runs. */
export function stdioConnector(
  args: readonly string[],
  more: Partial<ConnectorOptions> = {},
): ConnectorOptions {
  return { transport: { kind: 'stdio', command: process.execPath, args }, ...more };
}
