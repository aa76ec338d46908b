/** The triggers in dotted form, as bindings, required triggers and telemetry name them. */
export const TRIGGERS = [
  'session.start',
  'client.messages',
  'client.action',
  'tool.execute',
  'tool.finished',
  'model.execute',
  'model.finished',
  'subagent.finished',
  'interrupt.resumed',
  'turn.finished',
] as const;

export type TriggerName = (typeof TRIGGERS)[number];

const NAMES: ReadonlySet<string> = new Set(TRIGGERS);

export function isTriggerName(name: string): name is TriggerName {
  return NAMES.has(name);
}
