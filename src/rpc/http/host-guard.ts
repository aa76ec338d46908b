import { isLoopback } from '../address.ts';

const HOST = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/;

/**
 * Whether a Host header names this machine's loopback. A web page may point a name of its own at 127.0.0.1 (DNS
 * rebinding) and would then be let through by the browser; the name that it used is in the header.
 */
export function namesLoopback(host: string | undefined): boolean {
  const name = HOST.exec(host ?? '')?.[1] ?? '';
  return isLoopback(name.replace(/^\[(.*)\]$/, '$1'));
}
