import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

const INDENT = '    ';
const MAX_WIDTH = 100;

/** The width of the account: that of the terminal, as far as lines stay readable. */
function width(): number {
  return Math.min(process.stdout.columns ?? MAX_WIDTH, MAX_WIDTH);
}

export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export function line(text = ''): void {
  process.stdout.write(`${text}\n`);
}

/** The head of a step, with its time at the right edge. */
export function heading(number: number, title: string, millis: number): void {
  const time = `${Math.round(millis)} ms`;
  const left = ` ${number}  ${title}`;
  line();
  line(`${styled('bold', left)}${styled('dim', time.padStart(Math.max(1, width() - left.length)))}`);
}

/** What was called. */
export function called(tool: string, args: string): void {
  const text = args.replaceAll('\n', '⏎');
  paragraph(`${tool} ${text}`, 'cyan');
}

/** What came of it. */
export function outcome(mark: '✓' | '✗' | '↻', text: string): void {
  paragraph(text, 'none', `${styled(mark === '✓' ? 'green' : 'yellow', mark)} `, 2);
}

/** Why it matters. */
export function remark(text: string): void {
  paragraph(text, 'dim');
}

/** Words that somebody else wrote, a model's reading say. */
export function quoted(text: string): void {
  paragraph(text, 'italic', `${styled('dim', '│')} `, 2, '  ');
}

/** Spans of time, one bar each, on one scale. */
export function timeline(
  spans: readonly {
    readonly name: string;
    readonly from: number;
    readonly to: number;
    readonly note: string;
  }[],
): void {
  const begin = Math.min(...spans.map(({ from }) => from));
  const end = Math.max(...spans.map(({ to }) => to));
  const names = Math.max(...spans.map(({ name }) => name.length));
  const notes = Math.max(...spans.map(({ note }) => note.length));
  const columns = Math.max(10, width() - INDENT.length - names - notes - 4);
  for (const { name, from, to, note } of spans) {
    const at = (time: number): number => Math.round(((time - begin) / Math.max(end - begin, 1)) * columns);
    const bar = ' '.repeat(at(from)) + '━'.repeat(Math.max(1, at(to) - at(from)));
    line(`${INDENT}${name.padEnd(names)}  ${styled('green', bar.padEnd(columns))}  ${note.padStart(notes)}`);
  }
}

/** Text within the width, its later lines under the first. */
function paragraph(text: string, style: Style, mark = '', markWidth = 0, before = ''): void {
  const room = width() - INDENT.length - before.length - markWidth;
  const lines = wrapped(text, room);
  for (const [index, part] of lines.entries()) {
    const lead = mark === '' ? '' : index === 0 || before !== '' ? mark : ' '.repeat(markWidth);
    line(`${INDENT}${before}${lead}${styled(style, part)}`);
  }
}

function wrapped(text: string, room: number): readonly string[] {
  const lines: string[] = [];
  let current = '';
  for (const word of text.split(' ')) {
    if (current !== '' && current.length + 1 + word.length > room) {
      lines.push(current);
      current = word;
    } else {
      current = current === '' ? word : `${current} ${word}`;
    }
  }
  return [...lines, current];
}
