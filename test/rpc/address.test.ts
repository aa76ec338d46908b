import { describe, expect, it } from 'vitest';
import { formatAddress, isLoopback, parseAddress } from '../../src/rpc/address.ts';

describe('addresses to listen on', () => {
  it.each([
    ['127.0.0.1:7070', '127.0.0.1', 7070],
    ['localhost:0', 'localhost', 0],
    ['[::1]:7070', '::1', 7070],
    ['[::]:65535', '::', 65_535],
    ['engine.internal:7070', 'engine.internal', 7070],
  ])('reads %s, and writes it back', (text, host, port) => {
    expect(parseAddress(text)).toEqual({ ok: true, value: { host, port } });
    expect(formatAddress({ host, port })).toBe(text);
  });

  it.each([
    '',
    ':7070',
    '7070',
    'localhost',
    'localhost:',
    'localhost:x',
    'localhost:65536',
    '::1:7070',
    '[::1]',
    '[]:1',
    '[localhost]:1',
    'a:1:2',
    '127.0.0.1:-1',
    'localhost:7070 ',
  ])('refuses "%s" and shows how to write one', (text) => {
    expect(parseAddress(text)).toMatchObject({
      ok: false,
      refusal: { message: expect.stringContaining('127.0.0.1:7433') },
    });
  });

  it.each([
    ['127.0.0.1', true],
    ['127.8.9.10', true],
    ['::1', true],
    ['localhost', true],
    ['LocalHost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['128.0.0.1', false],
    ['127.0.0.1.evil.example', false],
    ['localhost.evil.example', false],
    ['', false],
  ])('9.1: whether %s is loopback: %s', (host, loopback) => {
    expect(isLoopback(host)).toBe(loopback);
  });
});
