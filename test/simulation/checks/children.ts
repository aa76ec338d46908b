import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import type { Report } from './evidence.ts';
import type { TalkEvidence } from './talk-evidence.ts';

/** Child sessions: 6.10. */
export function checkChildren(
  talks: readonly TalkEvidence[],
  report: Report,
  cover: (what: string) => void,
): void {
  const logs = new Map(talks.map((talk) => [talk.sessionId, talk]));
  const parents = new Map<string, string>();
  for (const { sessionId, records } of talks) {
    const started = new Set<string>();
    for (const { event, time, index } of records) {
      const { kind } = event;
      const where = `${sessionId}: event ${event.sequence}`;
      if (kind.case === 'subagentStarted') {
        const { callId, sessionId: child } = kind.value;
        if (started.has(callId)) report('6.10', `${where}: ${callId} starts a child again`, time);
        started.add(callId);
        if (parents.has(child)) report('6.10', `${where}: ${child} has two parents`, time);
        parents.set(child, sessionId);
        const created = logs.get(child)?.records[0];
        if (created === undefined || created.index > index)
          report('6.10', `${where}: ${child} was not there when its start was recorded`, time);
        cover('child started');
      }
    }
  }
  const starts = new Map<string, number>();
  for (const { sessionId, records } of talks) {
    const calls = records.filter(
      ({ event: { kind } }) =>
        kind.case === 'toolCallRequested' && kind.value.handler === ToolHandler.SUBAGENT,
    );
    starts.set(sessionId, calls.length);
  }
  for (const { sessionId, records } of talks) {
    const created = records[0]?.event.kind;
    if (created?.case !== 'sessionCreated' || created.value.ancestry.length === 0) continue;
    const [parent = ''] = created.value.ancestry;
    const left = (starts.get(parent) ?? 0) - 1;
    starts.set(parent, left);
    if (left < 0) report('6.10', `${parent}: has more children than calls that start one`, records[0]?.time);
    if ((parents.get(sessionId) ?? parent) !== parent)
      report('6.10', `${sessionId}: its parent is ${parents.get(sessionId)}, and it says ${parent}`);
    const turns = records.filter(({ event }) => event.kind.case === 'turnStarted');
    if (turns.length > 1) report('6.10', `${sessionId}: a child has ${turns.length} turns`, turns[1]?.time);
    const end = records.find(({ event }) => event.kind.case === 'turnEnded')?.event.kind;
    if (end?.case === 'turnEnded') cover(`child ${end.value.outcome.case}`);
  }
}
