import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** Colours a text on a terminal, and nowhere else; NO_COLOR, and the other conventions that Node knows, are honoured. */
export function styled(stream: NodeJS.WriteStream, style: Style, text: string): string {
  return styleText(style, text, { stream });
}

const UNKNOWN_WIDTH = Number.POSITIVE_INFINITY;

/** Rows as aligned columns, each on one line whatever foreign words are in it. On a terminal the last column is cut to its width. */
export function table(rows: readonly (readonly string[])[], stream: NodeJS.WriteStream): string {
  const width = stream.isTTY ? stream.columns : UNKNOWN_WIDTH;
  const widths: number[] = [];
  const cleaned = rows.map((row) => row.map((cell) => cell.replace(/\p{Cc}+/gu, ' ')));
  for (const row of cleaned) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  return cleaned
    .map((row) => {
      const line = row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd();
      return line.length > width ? `${line.slice(0, width - 1)}…` : line;
    })
    .join('\n');
}

/** Foreign text on one line of a terminal: no line ends, and no control character that would steer it. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** Foreign text for people: lines stay lines, and no control character steers a terminal. */
export function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '�');
}

/** The same on a terminal; programs get the text as it is. */
export function shown(text: string, stream: NodeJS.WriteStream): string {
  return stream.isTTY ? harmless(text) : text;
}

/** A length of time in the unit that a person would choose. */
export function lengthOfTime(millis: number): string {
  if (millis < 1_000) return `${Math.round(millis)} ms`;
  if (millis < 60_000) return `${(millis / 1_000).toFixed(1)} s`;
  return `${Math.floor(millis / 60_000)} min ${Math.round((millis % 60_000) / 1_000)} s`;
}
