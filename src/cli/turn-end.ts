import type { TurnResult } from '../sdk/index.ts';
import { openItemJson } from '../sdk/session/event-json.ts';
import { EXIT } from './exit-code.ts';
import { openItemsText } from './open-items.ts';
import { harmless, lengthOfTime, oneLine, shown, styled } from './style.ts';

/** How a turn ended, for programs: docs/cli.md documents the shape. */
export function turnResultJson(result: TurnResult): object {
  const { sessionId, turnId, ok } = result;
  const head = { kind: 'result', sessionId, turnId, ok };
  if (result.ok) {
    const { text, output, iterations, usage } = result;
    const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
    return {
      ...head,
      text,
      ...(output === undefined ? {} : { output }),
      iterations,
      usage: { inputTokens, outputTokens },
    };
  }
  const { status, error } = result;
  const open = status === 'paused' ? { openItems: result.openItems.map(openItemJson) } : {};
  return { ...head, status, error, ...open };
}

/** The exit code of `spindle run`. */
export function turnExitCode(result: TurnResult) {
  if (result.ok) return EXIT.ok;
  return result.status === 'paused' ? EXIT.paused : EXIT.toolFailed;
}

/**
 * Shows a person how a turn ended: its value, or its text where that has not been shown as it came, on standard
 * output; what failed and what waits on standard error.
 */
export function showTurnEnd(
  result: TurnResult,
  { agent, tookMs }: { readonly agent: string; readonly tookMs: number },
): void {
  const { stdout, stderr } = process;
  if (result.ok) {
    if (result.output !== undefined) {
      stdout.write(`${shown(JSON.stringify(result.output, undefined, 2), stdout)}\n`);
    } else if (!stdout.isTTY && result.text !== '') {
      stdout.write(`${result.text}\n`);
    }
    if (stderr.isTTY) stderr.write(`${styled(stderr, 'dim', footer(result, agent, tookMs))}\n`);
    return;
  }
  if (result.status === 'paused') {
    stderr.write('The turn waits, and goes on once it has its answer:\n');
    stderr.write(`${openItemsText(result.sessionId, result.openItems, stderr)}\n`);
    stderr.write(`What comes of it: spindle events ${result.sessionId} --follow\n`);
    return;
  }
  const code = styled(stderr, ['red', 'bold'], oneLine(result.error.code));
  stderr.write(`${code}: ${harmless(result.error.message)}\n`);
  stderr.write(`${styled(stderr, 'dim', `spindle trace ${result.sessionId} shows what it did.`)}\n`);
}

function footer(result: Extract<TurnResult, { ok: true }>, agent: string, tookMs: number): string {
  const { iterations, usage, sessionId } = result;
  const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
  const calls = `${iterations} model ${iterations === 1 ? 'call' : 'calls'}`;
  const facts = [`ok in ${lengthOfTime(tookMs)}`, calls, `${tokens.toLocaleString('en')} tokens`];
  return `${facts.join(', ')}. Go on in this session:\n  ${goOn(agent, sessionId)}`;
}

/** The command that says more in a session. */
export function goOn(agent: string, sessionId: string): string {
  return `spindle run ${agent} --session ${sessionId} '…'`;
}
