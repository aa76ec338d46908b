import { join } from 'node:path';
import type { ConnectorState } from './connector.ts';
import { fileCredentials, memoryCredentials } from './credential-store.ts';
import { filePins, memoryPins } from './pins.ts';

/** What is kept about a connector: in a folder beside the journal, or in memory where that keeps nothing either. */
export function connectorState(directory: string | undefined, id: string): ConnectorState {
  if (directory === undefined) return { pins: memoryPins(), credentials: memoryCredentials() };
  return {
    pins: filePins(join(directory, `${id}.pins.json`)),
    credentials: fileCredentials(join(directory, `${id}.credentials.json`)),
  };
}
