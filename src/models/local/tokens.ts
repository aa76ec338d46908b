import type { Bare } from './mention.ts';
import { recognize } from './recognize.ts';
import { stem } from './words.ts';

/** A text cut into what it is made of: values whose form tells what they are, words, and marks between them. */
export type Token =
  | { readonly kind: 'value'; readonly value: Bare; readonly start: number; readonly end: number }
  | {
      readonly kind: 'word';
      readonly text: string;
      readonly stem: string;
      readonly start: number;
      readonly end: number;
    }
  | { readonly kind: 'mark'; readonly text: string; readonly start: number; readonly end: number };

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  const plain = (end: number): void => {
    for (const match of text
      .slice(offset, end)
      .matchAll(/[\p{L}\p{N}]+(?:[’'-][\p{L}\p{N}]+)*|[,;:.!?&\n]/gu)) {
      const start = offset + match.index;
      const place = { text: match[0], start, end: start + match[0].length };
      tokens.push(
        /^[\p{L}\p{N}]/u.test(match[0])
          ? { kind: 'word', stem: stem(match[0]), ...place }
          : { kind: 'mark', ...place },
      );
    }
  };
  for (const value of recognize(text)) {
    plain(value.start);
    tokens.push({ kind: 'value', value, start: value.start, end: value.end });
    offset = value.end;
  }
  plain(text.length);
  return tokens;
}

export function isConjunction(token: Token): boolean {
  return (
    (token.kind === 'mark' && (token.text === ',' || token.text === '&')) ||
    (token.kind === 'word' && /^(?:and|or|plus)$/i.test(token.text))
  );
}
