import { type Logger, pino } from 'pino';
import { build as pretty } from 'pino-pretty';
import type { Observer } from '../engine/ports.ts';

export interface LogOptions {
  /** The least that is written. `silent` writes nothing. */
  readonly level: 'info' | 'warn' | 'error' | 'silent';
  /** Lines for people, with colour where `colour` says so. Otherwise one JSON object a line. */
  readonly pretty: boolean;
  readonly colour: boolean;
  /** The file descriptor to write to. Standard error where it is not given. */
  readonly descriptor?: number;
}

const STANDARD_ERROR = 2;

/**
 * An observer that writes a log. Nothing that it is told holds a value of an argument, a result or a
 * credential (9.4). Lines are written before `report` returns: what an engine says last is what matters most.
 */
export function createLog({
  level,
  pretty: forPeople,
  colour,
  descriptor = STANDARD_ERROR,
}: LogOptions): Observer {
  const logger: Logger = pino(
    {
      level,
      // The host and the process are known to whoever collects the log.
      base: null,
      messageKey: 'event',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    forPeople
      ? pretty({
          destination: descriptor,
          sync: true,
          colorize: colour,
          messageKey: 'event',
          translateTime: 'SYS:HH:MM:ss.l',
          singleLine: true,
          // These are facts like the others, and stay on their line.
          errorLikeObjectKeys: [],
        })
      : pino.destination({ dest: descriptor, sync: true }),
  );
  return {
    report(severity, event, facts) {
      logger[severity](facts, event);
    },
  };
}
