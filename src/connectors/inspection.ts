import type { Clock, Random } from '../engine/ports.ts';
import type { Schemas } from '../schema/schemas.ts';
import { createConnection } from './connection.ts';
import type { ConnectorState } from './connector.ts';
import { type ConnectorOffers, offersOf } from './offers.ts';
import type { ConnectorOptions } from './options.ts';
import { pinsOf } from './pins.ts';
import { fetchToolList } from './tool-list.ts';

export interface InspectionOptions {
  readonly connector: ConnectorOptions;
  readonly state: ConnectorState;
  readonly clock: Clock;
  readonly random: Random;
  readonly schemas: Schemas;
  readonly version: string;
}

/** What a server offers, as an engine with this configuration would take it. */
export type Inspection =
  | {
      readonly kind: 'offers';
      /** The server's own name and version. */
      readonly server: string;
      readonly offers: ConnectorOffers;
      /** Approves every tool as it is now, for a connector that pins. */
      accept(): Promise<void>;
    }
  /** `lastWords` is what the server wrote to standard error at last. */
  | { readonly kind: 'failed'; readonly reason: string; readonly lastWords: string };

/** Connects to a server once, asks for its tools, and leaves. */
export async function inspectConnector(
  connectorId: string,
  { connector, state, clock, random, schemas, version }: InspectionOptions,
): Promise<Inspection> {
  const { transport, prefix = true, trusted = false, pinned = false } = connector;
  const connection = createConnection({
    transport,
    store: state.credentials,
    version,
    clock,
    random,
    opened: () => undefined,
    closed: () => undefined,
    listChanged: () => undefined,
    refusedRequest: () => undefined,
  });
  try {
    const opening = await connection.open();
    if (opening.kind === 'failed')
      return { kind: 'failed', reason: opening.reason, lastWords: connection.lastWords() };
    const { client } = opening.link;
    const listed = await fetchToolList(client);
    const offers = offersOf(listed, {
      connectorId,
      prefix,
      trusted,
      schemas,
      pins: pinned ? await state.pins.read() : undefined,
      takenBy: () => undefined,
    });
    const { name = '', version: serverVersion = '' } = client.getServerVersion() ?? {};
    return {
      kind: 'offers',
      server: connection.words(`${name} ${serverVersion}`),
      offers,
      accept: () => state.pins.write(pinsOf(offers.usable)),
    };
  } catch (error) {
    return { kind: 'failed', reason: connection.words(error), lastWords: connection.lastWords() };
  } finally {
    await connection.close();
  }
}
