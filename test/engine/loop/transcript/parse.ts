/**
 * The form of a transcript: titles, then commands. A command is a line, perhaps with input on the lines behind it,
 * then `----` and what it leads to, up to an empty line.
 *
 *     # 6.1: a turn …
 *
 *     say
 *     How is the weather?
 *     ----
 *     turn.started turn
 */
export interface Transcript {
  /** Each line of the head that begins with a rule: `6.1: …`, or several rules. */
  readonly title: string;
  /** Why the end may differ when the engine is killed on the way; undefined where it may not. */
  readonly restartsDiffer: string | undefined;
  readonly head: readonly string[];
  readonly commands: readonly Command[];
}

export interface Command {
  readonly line: number;
  readonly name: string;
  /** The words behind the name. */
  readonly words: readonly string[];
  /** `key=value` among the words. */
  readonly options: Readonly<Record<string, string>>;
  readonly input: readonly string[];
  readonly expected: readonly string[];
  /** Comments that stand before it. */
  readonly comments: readonly string[];
}

const DIVIDER = '----';

export function parseTranscript(text: string): Transcript {
  const lines = text.split('\n');
  const commands: Command[] = [];
  const head: string[] = [];
  let comments: string[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    if (line.trim() === '') continue;
    if (line.startsWith('#')) {
      (commands.length === 0 && comments.length === 0 && lines[index - 1]?.trim() !== ''
        ? head
        : comments
      ).push(line);
      continue;
    }
    const [name = '', ...rest] = line.trim().split(/\s+/);
    const input: string[] = [];
    const expected: string[] = [];
    const at = index + 1;
    while (lines[index + 1] !== undefined && lines[index + 1]?.trim() !== '' && lines[index + 1] !== DIVIDER)
      input.push(lines[++index] ?? '');
    if (lines[index + 1] === DIVIDER) {
      index += 1;
      while ((lines[index + 1] ?? '').trim() !== '') expected.push(lines[++index] ?? '');
    }
    const pairs = rest.filter((word) => word.includes('=')).map((word) => word.split(/=(.*)/s));
    commands.push({
      line: at,
      name,
      words: rest.filter((word) => !word.includes('=')),
      options: Object.fromEntries(pairs.map(([key = '', value = '']) => [key, value])),
      input,
      expected,
      comments,
    });
    comments = [];
  }
  const title = head.find((line) => /^# \d+\.\d+/.test(line))?.slice(2);
  if (title === undefined) throw new Error('a transcript begins with "# 6.1: what it shows"');
  const differs = head.find((line) => line.startsWith('# restarts differ: '));
  return { title, restartsDiffer: differs?.slice('# restarts differ: '.length), head, commands };
}

/** The transcript with other outputs, in the same form. */
export function formatTranscript(
  { head, commands }: Transcript,
  outputs: readonly (readonly string[])[],
): string {
  const blocks = commands.map(({ name, words, options, input, comments }, index) => {
    const pairs = Object.entries(options).map(([key, value]) => `${key}=${value}`);
    const output = outputs[index] ?? [];
    return [
      ...comments,
      [name, ...words, ...pairs].join(' '),
      ...input,
      ...(output.length > 0 ? [DIVIDER, ...output] : []),
    ].join('\n');
  });
  return `${[head.join('\n'), ...blocks].join('\n\n')}\n`;
}
