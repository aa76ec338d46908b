import { z } from 'zod';
import { readKept, writeKept } from './kept-file.ts';
import type { ServedTool } from './served-tool.ts';

/** The fingerprints of the tools that were approved, by their names on the server. */
export type Pins = ReadonlyMap<string, string>;

/** What was approved of one connector; undefined before the first time. */
export interface PinStore {
  read(): Promise<Pins | undefined>;
  write(pins: Pins): Promise<void>;
}

const PinsSchema = z.record(z.string(), z.string());

/** In a file, so that an approval outlives the engine, and an operator can give one beside it. */
export function filePins(path: string): PinStore {
  return {
    async read() {
      const kept = await readKept(path);
      if (kept === undefined) return undefined;
      const parsed = PinsSchema.safeParse(kept);
      if (!parsed.success) throw new Error(`${path} holds no pins; remove it and approve the tools again`);
      return new Map(Object.entries(parsed.data));
    },
    write: (pins) => writeKept(path, Object.fromEntries(pins)),
  };
}

/** In memory, for an engine that keeps nothing. */
export function memoryPins(): PinStore {
  let kept: Pins | undefined;
  return {
    read: async () => kept,
    async write(pins) {
      kept = pins;
    },
  };
}

export function pinsOf(tools: readonly ServedTool[]): Pins {
  return new Map(tools.map(({ serverName, fingerprint }) => [serverName, fingerprint]));
}

/** Why a tool is held back; undefined where what it is now was approved. */
export function holdReason(pins: Pins, { serverName, fingerprint }: ServedTool): string | undefined {
  const approved = pins.get(serverName);
  if (approved === fingerprint) return undefined;
  const what = approved === undefined ? 'is new' : 'has changed';
  return `its definition ${what} since the connector's tools were approved; \`spindle connectors check\` shows and accepts it`;
}
