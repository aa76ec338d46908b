import { EXIT, type ExitCode } from './exit-code.ts';
import { harmless, styled } from './style.ts';

/** What a command was about, and what may go on. */
export interface Subject {
  readonly callId?: string;
  readonly sessionId?: string;
  readonly turnId?: string;
}

/** Why a command ends without having done what it was asked. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;
  /** For programs: unreachable, usage, or the reason of a refusal. */
  readonly reason: string;
  /** What to do next. */
  readonly hint: string;
  /** The call or the turn that may go on, where one does. */
  readonly subject: Subject;

  constructor(exitCode: ExitCode, reason: string, message: string, hint = '', subject: Subject = {}) {
    super(message);
    this.exitCode = exitCode;
    this.reason = reason;
    this.hint = hint;
    this.subject = subject;
  }
}

/** Tells why a command failed, on standard error: in two sentences for people, in one JSON line for programs. */
export function reportError(error: unknown, json: boolean): ExitCode {
  const known = error instanceof CommandError ? error : unexpected(error);
  const { exitCode, reason, message, hint, subject } = known;
  const text = json
    ? JSON.stringify({
        error: {
          reason,
          message,
          ...(hint === '' ? {} : { hint }),
          ...subject,
          exitCode,
        },
      })
    : `${styled(process.stderr, ['red', 'bold'], 'spindle:')} ${harmless(message)}${hint === '' ? '' : `\n${hint}`}`;
  process.stderr.write(`${text}\n`);
  return exitCode;
}

/** Tells on standard error what is no failure, in the same two ways. */
export function reportWarning(message: string, json: boolean): void {
  const text = json
    ? JSON.stringify({ warning: message })
    : `${styled(process.stderr, 'yellow', 'spindle:')} ${harmless(message)}`;
  process.stderr.write(`${text}\n`);
}

/** A fault of ours: its stack says where. */
function unexpected(error: unknown): CommandError {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new CommandError(EXIT.internal, 'internal', what, 'This is a fault of Spindle. Please report it.');
}
