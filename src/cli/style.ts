import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** Colours a text on a terminal, and nowhere else; NO_COLOR, and the other conventions that Node knows, are honoured. */
export function styled(stream: NodeJS.WriteStream, style: Style, text: string): string {
  return styleText(style, text, { stream });
}

/** Terminals that do not say how wide they are report no columns, and are taken to be this wide. */
const USUAL_COLUMNS = 80;

/** The columns of a line; as many as there are characters where nothing shows them. */
export function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.isTTY ? stream.columns || USUAL_COLUMNS : Number.POSITIVE_INFINITY;
}

/**
 * What foreign text may not hold on a terminal: control characters, which steer it, and the marks that turn the
 * direction of writing, with which a text shows otherwise than it is.
 */
const STEERING = '\\p{Cc}\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';
const STEERED = new RegExp(`[${STEERING}]+`, 'gu');
const SPACE_OR_STEERING = new RegExp(`[\\s${STEERING}]+`, 'gu');
const STEERING_BUT_LINES = new RegExp(`(?![\\n\\t])[${STEERING}]`, 'gu');

/** Rows as aligned columns, each on one line whatever foreign words are in it. On a terminal the last column is cut to its width. */
export function table(rows: readonly (readonly string[])[], stream: NodeJS.WriteStream): string {
  const width = columnsOf(stream);
  const widths: number[] = [];
  const cleaned = rows.map((row) => row.map((cell) => cell.replace(STEERED, ' ')));
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
      return cut(line, width);
    })
    .join('\n');
}

/** Foreign text on one line of a terminal: no line ends, and no control character that would steer it. */
export function oneLine(text: string): string {
  return text.replace(SPACE_OR_STEERING, ' ').trim();
}

/** Foreign text for people: lines stay lines, and no control character steers a terminal. */
export function harmless(text: string): string {
  return text.replace(STEERING_BUT_LINES, '�');
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

/** A text that has at most so many columns. */
export function cut(text: string, columns: number): string {
  return text.length > columns ? `${text.slice(0, Math.max(0, columns - 1))}…` : text;
}
