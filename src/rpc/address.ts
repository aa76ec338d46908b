import { BlockList, isIP } from 'node:net';
import { accepted, type Outcome, refused } from '../core/refusal.ts';

/** Where to listen. */
export interface Address {
  /** A name or an IP address, without brackets. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

const HOST_PORT = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/;

/** Reads HOST:PORT, with an IPv6 address in brackets: `127.0.0.1:7070`, `localhost:0`, `[::1]:7070`. */
export function parseAddress(text: string): Outcome<Address> {
  const match = HOST_PORT.exec(text);
  const bracketed = match?.[1];
  const host = bracketed ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? Number.NaN);
  if (host === '' || !(port <= 65_535) || (bracketed !== undefined && isIP(bracketed) !== 6)) {
    return refused(
      'invalid_request',
      `'${text}' is no address to listen on. Write HOST:PORT, as in 127.0.0.1:7433, localhost:0 or [::1]:7433.`,
    );
  }
  return accepted({ host, port });
}

export function formatAddress({ host, port }: Address): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether only processes of this machine reach a host (9.1). A name other than `localhost` never counts. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === 'localhost';
  return LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
