/** Where a journal is kept, as configuration names it. */
export type JournalUrl =
  | { readonly kind: 'memory' }
  /** `path` as it was written: a relative one is relative to the working directory. */
  | { readonly kind: 'sqlite'; readonly path: string };

export type ParsedJournalUrl =
  | { readonly ok: true; readonly url: JournalUrl }
  | { readonly ok: false; readonly reason: string };

const FORMS = 'Use "memory:" for a journal that ends with the process, or "sqlite:" and the path of a file.';

/** Reads `memory:` or `sqlite:PATH`. */
export function parseJournalUrl(text: string): ParsedJournalUrl {
  if (text === 'memory:') return { ok: true, url: { kind: 'memory' } };
  if (!text.startsWith('sqlite:')) return refusal(`${quoted(text)} names no kind of journal. ${FORMS}`);
  const path = text.slice('sqlite:'.length);
  if (path === '') return refusal(`${quoted(text)} names no file. ${FORMS}`);
  if (path.startsWith('//')) {
    return refusal(`${quoted(text)} looks like an address with a host. Write sqlite:/absolute/path instead.`);
  }
  if (path === ':memory:') {
    return refusal(`${quoted(text)} would keep nothing on disk. Use "memory:" if that is what you want.`);
  }
  if (path.endsWith('/')) return refusal(`${quoted(text)} names a directory. Name the file in it.`);
  if (path.includes('\0')) return refusal(`${quoted(text)} holds a NUL character. ${FORMS}`);
  return { ok: true, url: { kind: 'sqlite', path } };
}

function refusal(reason: string): ParsedJournalUrl {
  return { ok: false, reason };
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
