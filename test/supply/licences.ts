/** Lists every package with its version and licence: `npm run licences`. */
import { lockedPackages } from './packages.ts';

for (const { name, version, licence, development } of lockedPackages()) {
  process.stdout.write(`${licence}\t${name}@${version}${development ? '\tdevelopment' : ''}\n`);
}
