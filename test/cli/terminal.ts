import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const SPINDLE = resolve(import.meta.dirname, '../../src/cli/spindle.ts');

/** A command in a terminal of 80 columns, which somebody watches and types into. */
export interface Terminal extends AsyncDisposable {
  /** Resolves once this has been shown behind what was waited for before. */
  shows(pattern: RegExp): Promise<void>;
  type(keys: string): void;
  readonly ended: Promise<{ readonly code: number; readonly shown: string }>;
}

/** Runs `spindle` in a terminal that util-linux's `script` makes. */
export function terminal(args: readonly string[], environment: Readonly<Record<string, string>>): Terminal {
  const words = [process.execPath, SPINDLE, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(SPINDLE_|FORCE_COLOR|NO_COLOR)/.test(name),
  );
  const child = spawn('script', ['-qec', `stty cols 80 rows 24; exec ${words.join(' ')}`, '/dev/null'], {
    env: { ...Object.fromEntries(inherited), ...environment, SHELL: '/bin/sh', TERM: 'xterm', NO_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  let seen = 0;
  let look = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    look();
  });
  const ended = once(child, 'close').then(([code]) => ({ code: Number(code), shown }));
  return {
    ended,
    shows(pattern) {
      return new Promise((found, reject) => {
        look = () => {
          const match = pattern.exec(shown.slice(seen));
          if (match === null) return;
          seen += match.index + match[0].length;
          look = () => undefined;
          found();
        };
        look();
        ended.then(() => reject(new Error(`it ended without showing ${pattern}:\n${shown}`)), reject);
      });
    },
    type: (keys) => void child.stdin.write(keys),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
