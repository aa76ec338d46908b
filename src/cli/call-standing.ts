import { type Call, type CallResult, callEnd } from '../sdk/index.ts';
import { callJson, failureText, isoTime, showEnd, stateOf } from './call-end.ts';
import { oneLine, table } from './style.ts';

/** A call that was recorded and is not waited for: its id is all that a person needs. */
export function showStarted(call: Call, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(callJson(call, callEnd(call)))}\n` : `${call.callId}\n`);
}

/** A call as it stands. A call that failed is shown, and is no failure of the command. */
export function showCall(call: Call, json: boolean): void {
  const end = callEnd(call);
  if (json) {
    process.stdout.write(`${JSON.stringify(callJson(call, end))}\n`);
    return;
  }
  const facts = [
    ['call', call.callId],
    ['tool', call.name],
    ['arguments', oneLine(call.arguments)],
    ['state', standing(call, end)],
    ...(call.requestedAt === undefined ? [] : [['requested', isoTime(call.requestedAt)]]),
    ...(call.deadline === undefined || end !== undefined ? [] : [['deadline', isoTime(call.deadline)]]),
  ];
  process.stdout.write(`${table(facts, process.stdout)}\n`);
  if (end?.ok === true) {
    process.stdout.write('\n');
    showEnd(end);
  } else if (end !== undefined) {
    process.stdout.write(`\n${failureText(end)}\n`);
  }
}

export function standing(call: Call, end: CallResult | undefined = callEnd(call)): string {
  const attempt = call.attempt > 1 ? `, attempt ${call.attempt}` : '';
  if (end === undefined) return `${stateOf(call)}${attempt}`;
  return `${end.ok ? 'succeeded' : `failed with ${end.error.code}`}${attempt}`;
}
