import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import type { Command } from 'commander';
import {
  type Client,
  SpindleError,
  type TaskOptions,
  type TurnEvent,
  type TurnResult,
} from '../sdk/index.ts';
import { processClock } from '../sdk/process-ports.ts';
import { eventJson } from '../sdk/session/event-json.ts';
import { askPerson } from './ask-person.ts';
import { CommandError } from './command-error.ts';
import { addConnectionOptions, type ConnectionFlags, withEngine } from './connection.ts';
import { END_SIGNALS, type EndSignal, EXIT, signalExitCode } from './exit-code.ts';
import { durationOption, idOption } from './option-value.ts';
import { goOn, showTurnEnd, turnExitCode, turnResultJson } from './turn-end.ts';
import { createTurnScreen } from './turn-screen.ts';
import { createTurnView } from './turn-view.ts';

interface RunFlags extends ConnectionFlags {
  readonly session?: string;
  readonly turn?: string;
  readonly queue?: boolean;
  readonly task?: string;
  readonly timeout?: number;
}

const HELP = `
AGENT is bound by a worker (\`spindle worker FILE\`), or is an [agents.NAME] of
the engine's configuration. The answer goes to standard output; what the tools
do, and how the turn failed, to standard error.

On a terminal, what waits for a person is asked at the prompt; Ctrl-D leaves it
open. Elsewhere the turn is left waiting, with exit code 9: \`spindle resume\`
answers, and the turn goes on.

Ctrl-C cancels the turn, and a second one ends the command at once. SIGTERM and
the end of --timeout end the wait alone: the turn goes on.

With --turn a command may be run again without doing the work twice: the turn of
that id is shown, whether it runs or has ended.

Examples:
  spindle run folder 'How many words are in errors.md and cli.md?'
  spindle run folder --session notes 'And how many lines?'
                                     in the session notes, made if there is none
  spindle run folder - < question.txt
  spindle run clerk 'Where is order 7?' --task order.schema.json | jq .status
  spindle run clerk 'Where is order 7?' --json | jq 'select(.kind=="result")'
`;

export function defineRun(command: Command): void {
  addConnectionOptions(command)
    .description('Runs a turn of an agent, and shows what happens until it ends.')
    .argument('<agent>', 'the id of the agent')
    .argument('<message>', 'what to say, or - to read it from standard input')
    .option('--session <id>', 'go on in this session (default: a new one)', idOption)
    .option('--turn <id>', 'name the turn; the same id again is the same turn', idOption)
    .option('--queue', 'wait behind a turn that runs in the session')
    .option('--task <file>', 'the JSON Schema of a value that the turn ends with; prints that')
    .option('--timeout <duration>', 'how long to wait (default: as long as it takes)', durationOption)
    .addHelpText('after', HELP)
    .action(run);
}

/** The turn of one command. */
interface Place {
  readonly agent: string;
  readonly sessionId: string;
  readonly turnId: string;
}

async function run(agent: string, given: string, flags: RunFlags): Promise<void> {
  const task = flags.task === undefined ? undefined : taskIn(flags.task);
  const message = given === '-' ? await textOf(process.stdin) : given;
  if (message.trim() === '') throw new CommandError(EXIT.usage, 'usage', 'The message is empty.');
  // Chosen here, so that whatever ends the wait can say how to go on.
  const place: Place = { agent, sessionId: flags.session ?? newId(), turnId: flags.turn ?? newId() };
  const startedAt = performance.now();
  const result = await withEngine(flags, (client) =>
    follow(client, place, message, { ...flags, schema: task }),
  );
  if (flags.json === true) process.stdout.write(`${JSON.stringify(turnResultJson(result))}\n`);
  else showTurnEnd(result, { agent, tookMs: performance.now() - startedAt });
  process.exitCode = turnExitCode(result);
}

function newId(): string {
  return randomBytes(16).toString('base64url');
}

/** Runs the turn and shows it. A signal or the end of the time to wait ends this with a CommandError. */
async function follow(
  { sessions }: Client,
  place: Place,
  message: string,
  flags: RunFlags & { readonly schema: TaskOptions | undefined },
): Promise<TurnResult> {
  const { agent, sessionId, turnId } = place;
  const json = flags.json === true;
  const asks = !json && process.stdin.isTTY && process.stderr.isTTY;
  const screen = createTurnScreen();
  const view = createTurnView(screen, { asks });
  const ended = new AbortController();
  let cancelled = false;
  const end = (signal: EndSignal): void => {
    if (signal !== 'SIGINT' || cancelled) {
      ended.abort(waitEnded(signalExitCode(signal), 'interrupted', place));
      return;
    }
    cancelled = true;
    sessions.cancel(sessionId, { turnId, reason: 'Ctrl-C' }).then(
      // It had not been started, or has ended: nothing more comes.
      (stopped) => stopped ?? ended.abort(waitEnded(signalExitCode(signal), 'interrupted', place)),
      (error: unknown) => ended.abort(error),
    );
  };
  const disarm =
    flags.timeout === undefined
      ? undefined
      : processClock.alarm(processClock.now() + flags.timeout, () =>
          ended.abort(waitEnded(EXIT.timeout, 'wait_timeout', place)),
        );
  for (const signal of END_SIGNALS) process.on(signal, end);
  const show = (event: TurnEvent): void => {
    if (json) process.stdout.write(`${JSON.stringify(eventJson(event))}\n`);
    else view.event(event);
  };
  try {
    const options = {
      sessionId,
      turnId,
      onEvent: show,
      signal: ended.signal,
      ...(flags.queue === undefined ? {} : { queue: flags.queue }),
      ...(asks ? { onInterrupt: askPerson(screen) } : {}),
    };
    const { schema: task } = flags;
    const result = await (task === undefined
      ? sessions.run(agent, message, options)
      : sessions.run(agent, message, { ...options, task }));
    if (cancelled && !result.ok && result.status === 'cancelled') throw turnCancelled(place);
    return result;
  } catch (error) {
    screen.clear();
    screen.endText();
    throw error instanceof SpindleError && error.reason === 'unavailable' ? outOfReach(place) : error;
  } finally {
    disarm?.();
    for (const signal of END_SIGNALS) process.off(signal, end);
  }
}

function taskIn(file: string): TaskOptions {
  try {
    return { result: JSON.parse(readFileSync(file, 'utf8')) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(EXIT.usage, 'task', `${file} is no JSON Schema that can be read: ${why}`);
  }
}

function waitEnded(exitCode: CommandError['exitCode'], reason: string, place: Place): CommandError {
  return new CommandError(exitCode, reason, 'The wait has ended, and the turn goes on.', later(place), {
    sessionId: place.sessionId,
    turnId: place.turnId,
  });
}

function outOfReach(place: Place): CommandError {
  const message = 'The engine does not answer any more. The turn may go on, once it does.';
  const { sessionId, turnId } = place;
  return new CommandError(EXIT.unreachable, 'unreachable', message, later(place), { sessionId, turnId });
}

function later({ sessionId }: Place): string {
  return `  spindle events ${sessionId} --follow\n  spindle cancel --session ${sessionId}`;
}

function turnCancelled({ agent, sessionId, turnId }: Place): CommandError {
  return new CommandError(
    signalExitCode('SIGINT'),
    'interrupted',
    'The turn is cancelled. Go on in this session:',
    `  ${goOn(agent, sessionId)}`,
    { sessionId, turnId },
  );
}
