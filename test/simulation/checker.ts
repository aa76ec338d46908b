import { checkChildren } from './checks/children.ts';
import { checkDecisions } from './checks/decisions.ts';
import { gather, type Violation } from './checks/evidence.ts';
import { checkInterrupts } from './checks/interrupts.ts';
import { checkIterations } from './checks/iterations.ts';
import { checkLiveness } from './checks/liveness.ts';
import { checkLogs } from './checks/log.ts';
import { checkDefinitions, checkModelRequests } from './checks/model-requests.ts';
import { checkRuns } from './checks/runs.ts';
import { checkSlots } from './checks/slots.ts';
import { checkStreams } from './checks/streams.ts';
import { talksOf } from './checks/talk-evidence.ts';
import { checkTurns } from './checks/turns.ts';
import { checkWaits } from './checks/waits.ts';
import { checkWatches } from './checks/watches.ts';
import type { Story } from './world/world.ts';

export interface Verdict {
  readonly violations: readonly Violation[];
  /** What occurred: faults, events, and steps from one phase of a call to another. */
  readonly covered: ReadonlySet<string>;
}

/**
 * Judges a story by docs/protocol.md. It was written from that page, and knows no more of the engine than
 * somebody who watches the wire, the journal, the callers and the handlers.
 */
export function judge(story: Story): Verdict {
  const evidence = gather(story);
  const violations: Violation[] = [];
  const covered = new Set<string>();
  const report = (rule: string, what: string, time = Number.POSITIVE_INFINITY): void => {
    violations.push({ rule, what, time });
  };
  const cover = (what: string): void => {
    covered.add(what);
  };
  for (const fact of story.facts) {
    if (fact.kind !== 'fault') continue;
    cover(`fault ${fact.fault}`);
    if (fact.on !== '') cover(`fault after: ${fact.on}`);
  }
  checkLiveness(evidence, report);
  // A world that broke off has loose ends of its own.
  if (story.crash === undefined) {
    checkLogs(evidence, report, cover);
    checkRuns(evidence, report);
    checkSlots(evidence, report);
    checkStreams(evidence, report);
    checkWaits(evidence, report);
    const talks = talksOf(evidence);
    checkTurns(evidence, talks, report, cover);
    checkDecisions(evidence, talks, report, cover);
    checkIterations(talks, report, cover);
    checkModelRequests(evidence, talks, report, cover);
    checkDefinitions(evidence, talks, report, cover);
    checkInterrupts(evidence, talks, report, cover);
    checkChildren(talks, report, cover);
    checkWatches(evidence, talks, report, cover);
  }
  return { violations: violations.sort((one, other) => one.time - other.time), covered };
}
