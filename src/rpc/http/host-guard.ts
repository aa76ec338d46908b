import { isIP } from 'node:net';
import { isLoopback } from '../address.ts';

/** Under which names a port answers. */
export interface HostNames {
  /** Only processes of this machine reach it: names of loopback alone. */
  readonly loopback: boolean;
  /** Names beside those; 'any' where none can be used against the port. */
  readonly names: readonly string[] | 'any';
}

const HOST = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/;

/**
 * Whether a port answers to a Host header. A web page may point a name of its own at an address that its reader can
 * reach (DNS rebinding), and would then be let through by the browser; the name that it used is in the header. An
 * address is no such name.
 */
export function answersTo({ loopback, names }: HostNames, host: string | undefined): boolean {
  const name =
    HOST.exec(host ?? '')?.[1]
      ?.replace(/^\[(.*)\]$/, '$1')
      .toLowerCase() ?? '';
  if (names !== 'any' && names.some((known) => known.toLowerCase() === name)) return true;
  if (loopback) return isLoopback(name);
  return names === 'any' || isIP(name) !== 0;
}
