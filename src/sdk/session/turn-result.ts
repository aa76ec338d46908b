import type { TurnEnded } from '../../../gen/spindle/v1/event_pb.ts';
import type { ChatMessage, Usage } from '../../../gen/spindle/v1/message_pb.ts';
import type { OpenItem } from '../../../gen/spindle/v1/session_service_pb.ts';
import { failure } from '../../core/failure.ts';
import { messageText } from '../agent/message.ts';
import { type CallFailure, callFailureOf } from '../client/call-result.ts';
import { parseWith } from '../parse.ts';
import { type TaskOptions, taskParserOf } from '../task.ts';

/** How a turn ended. A failure is an outcome; only a request that is refused or does not get through is thrown. */
export type TurnResult<Output = unknown> = { readonly sessionId: string; readonly turnId: string } & (
  | {
      readonly ok: true;
      /** The text of the assistant's last message. */
      readonly text: string;
      /** That message; undefined where the turn ended without one. */
      readonly answer: ChatMessage | undefined;
      /** The value of the task, or what the decision `done` said; else undefined. */
      readonly output: Output;
      /** How many model calls it made. */
      readonly iterations: number;
      /** What they read and wrote, subagents included. */
      readonly usage: Usage | undefined;
    }
  | { readonly ok: false; readonly status: 'failed' | 'cancelled'; readonly error: CallFailure }
  | {
      readonly ok: false;
      /** It waits for somebody: answer what is open, and run the turn on under its id. */
      readonly status: 'paused';
      readonly error: CallFailure;
      readonly openItems: readonly OpenItem[];
    }
);

export interface TurnPlace {
  readonly sessionId: string;
  readonly turnId: string;
}

/** The result that the end of a turn tells of. `answer` is its last message, which the event only names. */
export async function turnResultOf<Output>(
  place: TurnPlace,
  ended: TurnEnded,
  answer: ChatMessage | undefined,
  task: TaskOptions | undefined,
): Promise<TurnResult<Output>> {
  const failed = (status: 'failed' | 'cancelled', error: CallFailure): TurnResult<Output> => ({
    ...place,
    ok: false,
    status,
    error,
  });
  const { outcome } = ended;
  switch (outcome.case) {
    case 'failed':
      return failed('failed', callFailureOf(outcome.value));
    case 'cancelledReason': {
      const reason = outcome.value === '' ? 'The turn was cancelled.' : outcome.value;
      return failed('cancelled', callFailureOf(failure('cancelled', reason)));
    }
    case undefined: {
      const message =
        'the engine said that the turn had ended, and not how: it may be newer than this client';
      return failed('failed', callFailureOf(failure('internal', message)));
    }
    case 'finished': {
      const { outputJson, iterations, usage } = outcome.value;
      const output = await outputOf(outputJson, task);
      if (!output.ok) return failed('failed', callFailureOf(output.failure));
      const text = answer === undefined ? '' : messageText(answer);
      // Without a parser a typed output is the engine's word: it checked the value against the task (6.12).
      return { ...place, ok: true, text, answer, output: output.value as Output, iterations, usage };
    }
  }
}

export function pausedResult<Output>(place: TurnPlace, openItems: readonly OpenItem[]): TurnResult<Output> {
  const what = openItems.map(({ id, name }) => (name === '' ? id : `${name} (${id})`)).join(', ');
  const message = `The turn waits for ${what === '' ? 'somebody' : what}: answer that, and run it on under its id.`;
  const error = { ...callFailureOf(failure('internal', message)), code: 'paused' };
  return { ...place, ok: false, status: 'paused', error, openItems };
}

async function outputOf(json: string, task: TaskOptions | undefined) {
  if (json === '') return { ok: true, value: undefined } as const;
  const value: unknown = JSON.parse(json);
  const parser = taskParserOf(task);
  if (parser === undefined) return { ok: true, value } as const;
  return await parseWith(parser, value, 'invalid_output', 'The output of the turn is');
}
