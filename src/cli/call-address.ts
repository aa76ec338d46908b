import type { CallAddress } from '../sdk/index.ts';
import type { ConnectionFlags } from './connection.ts';

/** The options of a command about one call. */
export interface CallAddressFlags extends ConnectionFlags {
  readonly session?: string;
}

/** Where the call is: in a session, or by itself. */
export function callAddress({ session }: CallAddressFlags): CallAddress {
  return session === undefined ? {} : { sessionId: session };
}
