import { text as textOf } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { CallResult, Client, RetryOptions, WaitOptions } from '../sdk/index.ts';
import { endJson, showEnd } from './call-end.ts';
import { showStarted } from './call-standing.ts';
import { addConnectionOptions, type ConnectionFlags, withClient } from './connection.ts';
import { EXIT, signalExitCode } from './exit-code.ts';
import { countOption, durationOption } from './option-value.ts';
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
The arguments go to the engine byte for byte: it checks them against the tool's schema.
The result goes to standard output; progress, and how a call failed, to standard error.
Ctrl-C ends the wait. The call goes on; \`spindle cancel\` stops it.

Examples:
  spindle call weather '{"city":"Tokyo"}'
  spindle call report - < arguments.json             arguments from standard input
  spindle call slow_job '{}' --run-timeout 10m --attempts 3
  spindle call order '{"item":7}' --call-id order-7  made once, however often it is run
  spindle call slow_job '{}' --start                 prints the call's id; \`spindle watch ID\` waits for it
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
    .option('--attempts <n>', 'attempts in all; above 1 says that a second one does no harm', countOption)
    .option('--call-id <id>', 'name the call; the same id, tool and arguments join it')
    .option('--require-valid', 'refuse arguments that do not match instead of asking the worker')
    .option('--start', 'record the call, and do not wait')
    .addHelpText('after', HELP)
    .action(call);
}

async function call(name: string, given: string, flags: CallFlags): Promise<void> {
  const args = { rawArguments: given === '-' ? await textOf(process.stdin) : given };
  const { callId, requireValid } = flags;
  const options: WaitOptions = {
    ...(callId === undefined ? {} : { callId }),
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
    if ((served?.workers ?? 0) === 0)
      progress.note(`No connected worker serves ${name}: the call waits for one.`);
    const end = await waitFor(client, name, args, options, progress);
    if (end === undefined) return;
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

/** The end of a call; undefined where Ctrl-C ended the wait for it. */
async function waitFor(
  client: Client,
  name: string,
  args: { readonly rawArguments: string },
  options: WaitOptions,
  progress: Progress,
): Promise<{ readonly result: CallResult; readonly tookMs: number } | undefined> {
  const interrupted = new AbortController();
  const onSignal = (): void => interrupted.abort();
  process.once('SIGINT', onSignal);
  const startedAt = performance.now();
  let callId = options.callId ?? '';
  try {
    for await (const event of client.stream(name, args, { ...options, signal: interrupted.signal })) {
      callId = event.callId;
      progress.event(event);
      if (event.kind === 'finished') {
        return { result: event.result, tookMs: performance.now() - startedAt };
      }
    }
    throw new Error(`the engine ended the stream of call ${callId} before the call had ended`);
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    progress.note(
      `The call goes on: \`spindle watch ${callId}\` waits for it, \`spindle cancel ${callId}\` stops it.`,
    );
    process.exitCode = signalExitCode('SIGINT');
    return undefined;
  } finally {
    process.off('SIGINT', onSignal);
    progress.clear();
  }
}

function retryOf({ runTimeout, totalTimeout, attempts }: CallFlags): RetryOptions {
  return {
    ...(runTimeout === undefined ? {} : { runTimeoutMs: runTimeout }),
    ...(totalTimeout === undefined ? {} : { totalTimeoutMs: totalTimeout }),
    ...(attempts === undefined ? {} : { maxAttempts: attempts }),
  };
}
