import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPrivateAddress } from '../../src/connectors/private-address.ts';
import { serverNameOf, toolNameOf } from '../../src/connectors/tool-name.ts';
import { wordsOf } from '../../src/connectors/words.ts';

describe('the name of a tool', () => {
  it.each([
    ['echo', 'every__echo'],
    ['get-sum', 'every__get-sum'],
    ['a__b', 'every__a__b'],
    ['read file', 'every__read%20file'],
    ['100%', 'every__100%25'],
    ['日本', 'every__日本'],
  ])('6.15: of %s says whose it is', (serverName, name) => {
    expect(toolNameOf('every', serverName, true)).toBe(name);
    expect(serverNameOf(name)).toEqual({ connectorId: 'every', serverName });
  });

  it('6.15: leads back to the connector and the name on its server, whatever that is', () => {
    const id = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/);
    fc.assert(
      fc.property(id, fc.string({ unit: 'binary' }), (connectorId, given) => {
        const serverName = given.toWellFormed();
        const name = toolNameOf(connectorId, serverName, true);
        expect(name).not.toMatch(/[\p{White_Space}\p{C}]/u);
        expect(serverNameOf(name)).toEqual({ connectorId, serverName });
      }),
    );
  });

  it.each(['plain', '__x', 'a b__x', 'x__%zz'])('is none of a connector where it is %s', (name) => {
    expect(serverNameOf(name)).toBeUndefined();
  });
});

describe('an address', () => {
  it.each([
    ['127.0.0.1', true],
    ['10.1.2.3', true],
    ['172.31.255.255', true],
    ['172.32.0.1', false],
    ['192.168.0.1', true],
    ['169.254.169.254', true],
    ['100.64.0.1', true],
    ['0.0.0.0', true],
    ['8.8.8.8', false],
    ['::1', true],
    ['::', true],
    ['fe80::1', true],
    ['fd00::1', true],
    ['::ffff:10.0.0.1', true],
    ['::ffff:8.8.8.8', false],
    ['64:ff9b::a00:1', true],
    ['2606:4700::1111', false],
    ['no address', true],
  ])('%s is of a private network: %s', (address, isPrivate) => {
    expect(isPrivateAddress(address)).toBe(isPrivate);
  });
});

describe("a server's own words", () => {
  it('9.4: lose every credential, the longer ones first', () => {
    expect(wordsOf('token abcdef and abcd', ['abcd', 'abcdef'])).toBe('token [redacted] and [redacted]');
  });

  it('are one line of bounded length, without control characters', () => {
    expect(wordsOf('a\n\u001b[31mb\u0000', [])).toBe('a [31mb');
    expect(wordsOf('x'.repeat(10_000), [])).toHaveLength(500);
  });
});
