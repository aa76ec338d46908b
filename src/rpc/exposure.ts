import { isLoopback, parseAddress } from './address.ts';

export interface Reach {
  readonly address: string;
  /** Whether callers have to prove who they are. */
  readonly asks: boolean;
  readonly tls: boolean;
}

export type Exposure =
  | { readonly kind: 'safe' }
  | { readonly kind: 'unreadable'; readonly message: string }
  /** Other machines reach it, and should not as it is; in words for an operator. */
  | { readonly kind: 'exposed'; readonly lacks: string };

/** Whether an address may be listened on without the operator saying that it is meant (9.1). */
export function exposureOf({ address, asks, tls }: Reach): Exposure {
  const parsed = parseAddress(address);
  if (!parsed.ok) return { kind: 'unreadable', message: parsed.refusal.message };
  if ((asks && tls) || isLoopback(parsed.value.host)) return { kind: 'safe' };
  if (!asks)
    return { kind: 'exposed', lacks: 'nobody is asked who they are: whoever reaches it can call every tool' };
  return { kind: 'exposed', lacks: 'it is in plain text: whoever is on the way reads credentials and calls' };
}
