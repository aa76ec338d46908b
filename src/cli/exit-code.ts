/** How a command ends, for scripts. Documented in docs/cli.md and in `spindle --help`. */
export const EXIT = {
  ok: 0,
  /** The call or the turn ended with a failure. */
  toolFailed: 1,
  /** The command line, the configuration or a file that it names cannot be used. */
  usage: 2,
  /** The engine refused the request. */
  refused: 3,
  /** No engine answers, or the one that does shuts down. */
  unreachable: 4,
  /** The wait is over, and the call may go on. */
  timeout: 5,
  /** `serve` cannot listen on an address. */
  address: 6,
  /** `serve` cannot open its journal. */
  journal: 7,
  /** The journal failed while the engine ran. */
  journalFailed: 8,
  /** The turn waits for somebody, and goes on once it has the answer. */
  paused: 9,
  /** A fault of Spindle itself; BSD's EX_SOFTWARE. */
  internal: 70,
  /** What was asked for is done, but its output could not be written; BSD's EX_IOERR. */
  outputLost: 74,
} as const;

/** What shells report for a process that a signal ended. */
const BY_SIGNAL = { SIGINT: 130, SIGTERM: 143 } as const;

/** The signals by which people and supervisors end a command. */
export type EndSignal = keyof typeof BY_SIGNAL;
export const END_SIGNALS: readonly EndSignal[] = ['SIGINT', 'SIGTERM'];

export type ExitCode = (typeof EXIT)[keyof typeof EXIT] | (typeof BY_SIGNAL)[EndSignal];

export function signalExitCode(signal: EndSignal): ExitCode {
  return BY_SIGNAL[signal];
}

export const EXIT_CODES_HELP = `Exit codes:
  0   done; for a call or a turn, it succeeded
  1   the call or the turn failed: the output names the code
  2   the command line or the configuration cannot be used
  3   the engine refused the request
  4   no engine answers
  5   the time to wait is over; what was waited for may go on
  6   serve: an address cannot be listened on
  7   serve: the journal cannot be opened
  8   serve: the journal failed while the engine ran
  9   run: the turn waits for somebody
  70  a fault of Spindle itself
  74  done, but the output could not be written
  130, 143  ended by Ctrl-C or SIGTERM`;
