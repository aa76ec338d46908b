import { describe, expect, it } from 'vitest';
import { parseJournalUrl } from '../../src/journal/url.ts';

describe('parseJournalUrl', () => {
  it.each([
    ['memory:', { kind: 'memory' }],
    ['sqlite:/var/lib/spindle/journal.db', { kind: 'sqlite', path: '/var/lib/spindle/journal.db' }],
    ['sqlite:spindle-data/journal.db', { kind: 'sqlite', path: 'spindle-data/journal.db' }],
    ['sqlite:with space?&#.db', { kind: 'sqlite', path: 'with space?&#.db' }],
  ])('reads %j', (text, url) => {
    expect(parseJournalUrl(text)).toEqual({ ok: true, url });
  });

  it.each([
    ['', /names no kind of journal/],
    ['memory', /names no kind of journal/],
    ['memory:x', /names no kind of journal/],
    ['postgres://db', /names no kind of journal/],
    ['SQLITE:x', /names no kind of journal/],
    ['sqlite:', /names no file/],
    ['sqlite://host/file.db', /sqlite:\/absolute\/path/],
    ['sqlite::memory:', /Use "memory:"/],
    ['sqlite:data/', /names a directory/],
    ['sqlite:a\0b', /NUL/],
  ])('refuses %j and says what to write instead', (text, reason) => {
    expect(parseJournalUrl(text)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });
});
