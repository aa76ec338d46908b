import { BlockList, isIP } from 'node:net';

/** Addresses that mean this machine, its network, or nobody in particular (IANA special-purpose registries). */
const PRIVATE_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const PRIVATE_IPV6 = ['::/128', '::1/128', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'];
/** IPv6 addresses that hold an IPv4 address, which a gateway or the system itself turns them into. */
const WRAPPED_IPV4 = ['64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32', '::/96'];

const BLOCKED = new BlockList();
for (const [ranges, family] of [
  [PRIVATE_IPV4, 'ipv4'],
  [[...PRIVATE_IPV6, ...WRAPPED_IPV4], 'ipv6'],
] as const) {
  for (const range of ranges) {
    const [network = '', bits = ''] = range.split('/');
    BLOCKED.addSubnet(network, Number(bits), family);
  }
}

/** Whether an IP address is none of the public network. Addresses like ::ffff:10.0.0.1 count as what they hold. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  return family === 0 || BLOCKED.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
