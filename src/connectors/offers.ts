import type { ConnectorTool } from '../engine/ports.ts';
import type { Schemas } from '../schema/schemas.ts';
import { holdReason, type Pins } from './pins.ts';
import { type NamingOptions, readServedTool, type ServedTool } from './served-tool.ts';

/** A tool that is not offered, and why. */
export interface Withheld {
  /** Its name on the server; empty where it has none. */
  readonly name: string;
  readonly reason: string;
  /** Held back for an operator to accept; otherwise it cannot be used at all. */
  readonly held: boolean;
}

export interface ConnectorOffers {
  readonly tools: readonly ConnectorTool[];
  readonly withheld: readonly Withheld[];
  /** What a person may approve: every tool that could be used. */
  readonly usable: readonly ServedTool[];
}

export interface OfferOptions extends NamingOptions {
  readonly schemas: Schemas;
  /** What was approved; undefined where nothing is pinned. */
  readonly pins: Pins | undefined;
  /** Who else has a name already; undefined where it is free. */
  readonly takenBy: (toolName: string) => string | undefined;
}

/** What of a server's list is offered. A tool that cannot be used keeps out itself, and no other (2.2, 6.15). */
export function offersOf(listed: readonly unknown[], options: OfferOptions): ConnectorOffers {
  const { schemas, pins, takenBy } = options;
  const tools = new Map<string, ConnectorTool>();
  const withheld: Withheld[] = [];
  const usable: ServedTool[] = [];
  for (const item of listed) {
    const read = readServedTool(item, options);
    if (read.kind === 'refused') {
      withheld.push({ name: read.name, reason: read.reason, held: false });
      continue;
    }
    const { served } = read;
    const { serverName, tool } = served;
    const withhold = (reason: string, held = false): void => {
      withheld.push({ name: serverName, reason, held });
    };
    const defined = schemas.define(tool);
    const owner = takenBy(tool.name);
    if (defined.kind === 'refused') withhold(defined.reason);
    else if (tools.has(tool.name)) withhold(`the server lists ${tool.name} twice; the first serves`);
    else if (owner !== undefined) withhold(`${tool.name} is a tool of ${owner} already; use prefixes`);
    else {
      usable.push(served);
      const held = pins && holdReason(pins, served);
      if (held === undefined) tools.set(tool.name, { definition: defined.definition, serverName });
      else withhold(held, true);
    }
  }
  return { tools: [...tools.values()], withheld, usable };
}
