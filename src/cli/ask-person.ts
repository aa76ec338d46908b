import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Interrupt, InterruptAnswer, InterruptHandler } from '../sdk/index.ts';
import { harmless, oneLine, styled } from './style.ts';
import type { TurnScreen } from './turn-screen.ts';

/**
 * Asks the person at the terminal what waits for one, one question after the other. Without an answer, after Ctrl-D
 * say, it stays open for somebody else.
 */
export function askPerson(screen: TurnScreen): InterruptHandler {
  let before: Promise<unknown> = Promise.resolve();
  return (interrupt) => {
    const answer = before.then(() => ask(interrupt, screen));
    before = answer.catch(() => undefined);
    return answer;
  };
}

async function ask(interrupt: Interrupt, screen: TurnScreen): Promise<InterruptAnswer | undefined> {
  const { signal } = interrupt;
  if (signal.aborted) return undefined;
  const { stderr } = process;
  screen.hold();
  try {
    stderr.write(`${questionText(interrupt)}\n`);
    for (;;) {
      const isApproval = approvalOf(interrupt) !== undefined;
      const choice = isApproval ? 'Run it? [y]es, [n]o' : 'Go on? [y]es, [n]o, or an answer';
      const said = (await line(`  ${styled(stderr, 'yellow', '?')} ${choice}: `, signal))?.trim();
      if (said === undefined) {
        stderr.write('\n');
        return undefined;
      }
      if (/^y(?:es)?$/i.test(said)) return { resume: isApproval ? { approved: true } : undefined };
      if (/^no?$/i.test(said)) {
        const why = await line('    Why not? The model reads it (may be empty): ', signal);
        return why === undefined ? undefined : { deny: why.trim() || 'The person said no.' };
      }
      if (said !== '' && !isApproval) return { resume: jsonOrText(said) };
    }
  } finally {
    screen.release();
  }
}

/** A line that the person types; undefined where there is none, or where the answer is not needed any more. */
async function line(question: string, signal: AbortSignal): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // The terminal hands Ctrl-C to whoever reads it, and it is to end the turn as elsewhere.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const closed = once(lines, 'close').then(() => undefined);
  try {
    return await Promise.race([lines.question(question, { signal }), closed]);
  } catch (error) {
    // Ctrl-D, or the signal.
    if (error instanceof Error && error.name === 'AbortError') return undefined;
    throw error;
  } finally {
    lines.close();
  }
}

interface Approval {
  readonly tool: string;
  readonly arguments: string;
}

/** What the engine asks by an approval policy (6.11). */
function approvalOf({ reason, payload }: Interrupt): Approval | undefined {
  if (reason !== 'approval' || typeof payload !== 'object' || payload === null) return undefined;
  const { tool, arguments: args } = { tool: undefined, arguments: undefined, ...payload };
  return typeof tool === 'string' && typeof args === 'string' ? { tool, arguments: args } : undefined;
}

/** What the person decides about, whole: nothing of it may be cut away. */
function questionText(interrupt: Interrupt): string {
  const { toolName, reason, payload } = interrupt;
  const approval = approvalOf(interrupt);
  const bold = (text: string): string => styled(process.stderr, 'bold', oneLine(text));
  const head =
    approval !== undefined
      ? `${bold(approval.tool)} wants to run:`
      : `${bold(toolName === '' ? 'The agent' : toolName)} asks: ${oneLine(reason)}`;
  const body = approval === undefined ? payload : asWritten(approval.arguments);
  if (body === undefined) return `  ${head}`;
  const text = typeof body === 'string' ? body : JSON.stringify(body, undefined, 2);
  return `  ${head}\n${harmless(text).replace(/^/gm, '      ')}`;
}

/** Arguments laid out for reading, where that shows every byte that counts; else as they were written. */
function asWritten(text: string) {
  const value = jsonOrText(text);
  return JSON.stringify(value) === text ? value : text;
}

function jsonOrText(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    // What is no JSON is a text.
    return text;
  }
}
