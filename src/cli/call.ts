import { randomBytes } from 'node:crypto';
import { text as textOf } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { CallResult, Client, RetryOptions, WaitOptions } from '../sdk/index.ts';
import { endJson, showEnd } from './call-end.ts';
import { showStarted } from './call-standing.ts';
import { CommandError } from './command-error.ts';
import { addConnectionOptions, type ConnectionFlags, withClient } from './connection.ts';
import { END_SIGNALS, type EndSignal, EXIT, signalExitCode } from './exit-code.ts';
import { attemptsOption, durationOption, idOption } from './option-value.ts';
import { type Progress, showProgress } from './progress.ts';
import { lengthOfTime, styled } from './style.ts';

interface CallFlags extends ConnectionFlags {
  readonly callId?: string;
  readonly timeout?: number;
  readonly runTimeout?: number;
  readonly totalTimeout?: number;
  readonly attempts?: number;
  readonly requireValid?: boolean;
  readonly start?: boolean;
}

const HELP = `
The arguments go to the engine byte for byte: it checks them against the tool's
schema. The result goes to standard output; progress, and how a call failed, to
standard error.

Ctrl-C, SIGTERM and the end of --timeout end the wait, and say the call's id.
The call goes on: \`spindle watch ID\` waits for it, \`spindle cancel ID\` stops it.

With --call-id a command may be run again without doing the work twice. Where
the engine has a call of this id, with the same tool and the same bytes of
arguments, no second one is made: the command waits for that call, or shows how
it ended. Another tool or other arguments are refused (call_id_conflict). The
engine keeps a call until 7 days after its end, or as long as its --retain says;
then the id is free, and the same command makes a new call.

Examples:
  spindle call weather '{"city":"Tokyo"}'
  spindle call report - < arguments.json     arguments from standard input
  spindle call slow_job --run-timeout 10m --attempts 3
  spindle call order '{"item":7}' --call-id order-7
                                             made once, however often it is run
  spindle call slow_job --start              prints the call's id, does not wait
  spindle call weather '{"city":"Tokyo"}' --json | jq .value
`;

export function defineCall(command: Command): void {
  addConnectionOptions(command)
    .description('Calls a tool, waits for its end, and shows the result.')
    .argument('<name>', 'the tool')
    .argument('[arguments]', 'a JSON object, or - to read it from standard input', '{}')
    .option(
      '--timeout <duration>',
      'how long to wait for the end (default: as long as it takes)',
      durationOption,
    )
    .option('--run-timeout <duration>', 'how long one attempt may run', durationOption)
    .option('--total-timeout <duration>', 'how long the call may take in all', durationOption)
    .option('--attempts <n>', 'attempts in all; above 1 says that a second one does no harm', attemptsOption)
    .option('--call-id <id>', 'name the call; the same id, tool and arguments join it (see below)', idOption)
    .option('--require-valid', 'refuse arguments that do not match instead of asking the worker')
    .option('--start', 'record the call, and do not wait')
    .addHelpText('after', HELP)
    .action(call);
}

async function call(name: string, given: string, flags: CallFlags): Promise<void> {
  const args = { rawArguments: given === '-' ? await textOf(process.stdin) : given };
  const { callId = newCallId(), requireValid } = flags;
  const options = {
    callId,
    ...(requireValid === undefined ? {} : { requireValidInput: requireValid }),
    ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
    retry: retryOf(flags),
  };
  await withClient(flags, async (client) => {
    if (flags.start === true) {
      showStarted(await client.start(name, args, options), flags.json === true);
      return;
    }
    // A single request first: it fails at once where no engine answers, while a call waits for one to come back.
    const [served] = await client.tools([name]);
    const progress = showProgress(flags.json === true);
    const end = await waitFor(client, name, args, options, {
      ...progress,
      event(event) {
        if (event.kind === 'queued' && (served?.workers ?? 0) === 0)
          progress.note(`No connected worker serves ${name}: the call waits for one.`);
        else progress.event(event);
      },
    });
    if (flags.json === true) {
      process.stdout.write(`${JSON.stringify(endJson(end.result))}\n`);
      if (!end.result.ok) process.exitCode = EXIT.toolFailed;
      return;
    }
    showEnd(end.result);
    progress.footer(
      styled(
        process.stderr,
        'dim',
        `${end.result.ok ? 'ok' : 'failed'} in ${lengthOfTime(end.tookMs)}, call ${end.result.callId}`,
      ),
    );
  });
}

/** Chosen here, so that whatever ends the wait can say how to go on. */
function newCallId(): string {
  return randomBytes(16).toString('base64url');
}

/** The end of a call. A signal ends the wait for it, and not the call. */
async function waitFor(
  client: Client,
  name: string,
  args: { readonly rawArguments: string },
  options: WaitOptions & { readonly callId: string },
  progress: Progress,
): Promise<{ readonly result: CallResult; readonly tookMs: number }> {
  const { callId } = options;
  const ended = new AbortController();
  const end = (signal: EndSignal): void => ended.abort(interrupted(signal, callId));
  for (const signal of END_SIGNALS) process.once(signal, end);
  const startedAt = performance.now();
  try {
    for await (const event of client.stream(name, args, { ...options, signal: ended.signal })) {
      progress.event(event);
      if (event.kind === 'finished') {
        return { result: event.result, tookMs: performance.now() - startedAt };
      }
    }
    throw new Error(`the engine ended the stream of call ${callId} before the call had ended`);
  } finally {
    for (const signal of END_SIGNALS) process.off(signal, end);
    progress.clear();
  }
}

function interrupted(signal: EndSignal, callId: string): CommandError {
  return new CommandError(
    signalExitCode(signal),
    'interrupted',
    `The wait has ended, and call ${callId} goes on.`,
    `\`spindle watch ${callId}\` waits for it, \`spindle cancel ${callId}\` stops it.`,
    { callId },
  );
}

function retryOf({ runTimeout, totalTimeout, attempts }: CallFlags): RetryOptions {
  return {
    ...(runTimeout === undefined ? {} : { runTimeoutMs: runTimeout }),
    ...(totalTimeout === undefined ? {} : { totalTimeoutMs: totalTimeout }),
    ...(attempts === undefined ? {} : { maxAttempts: attempts }),
  };
}
