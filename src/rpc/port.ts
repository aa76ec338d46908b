import { type Address, formatAddress } from './address.ts';

/** A port that the engine listens on. */
export interface Port {
  /** With the number that the system chose. */
  readonly address: Address;
  /** Tells health checks that nobody should come any more. Whoever comes all the same is still answered. */
  leave(): void;
  /** Takes no new connection and no new request. Resolves once every connection has ended. */
  close(): Promise<void>;
  /** Ends every connection at once. */
  destroy(): void;
}

/** Rewords what the system says when an address cannot be listened on, for the operator. */
export async function bound(kind: string, address: Address, bind: () => Promise<number>): Promise<Address> {
  try {
    return { host: address.host, port: await bind() };
  } catch (error) {
    const where = formatAddress(address);
    const reason = error instanceof Error ? error.message : String(error);
    const text = reason.includes('EADDRINUSE')
      ? `${where} is taken by another process. Stop it, or choose another ${kind} port; port 0 takes a free one.`
      : `${where} cannot be listened on for ${kind} (${reason}). Choose an address of this machine.`;
    throw new Error(text, { cause: error });
  }
}
