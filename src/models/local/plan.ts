import { MAX_LOCAL_CALLS, MAX_LOCAL_ITERATIONS } from '../../core/limits.ts';
import { chooseTool } from './choose.ts';
import type { Clause } from './clauses.ts';
import type { Conversation, MadeCall } from './conversation.ts';
import { factsOf, factsOfArguments } from './facts.ts';
import { type Arguments, type Filling, type Sources, valueAt } from './fill.ts';
import { clausesToServe } from './follow-up.ts';
import type { KnownTool } from './known-tool.ts';
import { mend, violationsIn } from './mend.ts';
import { producerFor } from './producer.ts';
import { askedWords } from './rank.ts';
import { isPointer } from './words.ts';

export interface PlannedCall {
  readonly tool: KnownTool;
  readonly json: string;
  readonly value: unknown;
}

/** What became of one thing that was asked for. */
export type Finding =
  | {
      readonly kind: 'called';
      readonly tool: Pick<KnownTool, 'name' | 'deed' | 'readOnly'>;
      readonly calls: readonly MadeCall[];
    }
  | {
      readonly kind: 'missing';
      readonly tool: KnownTool;
      readonly filling: Extract<Filling, { kind: 'missing' }>;
      /** Calls that were to find what is missing. */
      readonly calls: readonly MadeCall[];
    }
  | { readonly kind: 'none'; readonly clause: Clause };

export interface Plan {
  /** Calls to make now; none where all is done that can be done. */
  readonly calls: readonly PlannedCall[];
  /** Clauses that no tool fits well, for a search. */
  readonly unserved: readonly Clause[];
  readonly findings: readonly Finding[];
}

/** How often the arguments of one call are corrected. */
const MAX_CORRECTIONS = 3;

/**
 * Works out what to do next from the whole conversation, anew for each request: a call that was made already is not
 * made again, so the same conversation always leads to the same step, and a turn comes to an end.
 */
export function planNext(conversation: Conversation, tools: readonly KnownTool[]): Plan {
  const { calls: made, earlierCalls, today, iterations } = conversation;
  const facts = factsOf([...made, ...earlierCalls.toReversed()]);
  const planned: PlannedCall[] = [];
  const unserved: Clause[] = [];
  const findings: Finding[] = [];
  const claimed = new Set<MadeCall>();
  let previous: KnownTool | undefined;
  let pointedAt = textOf(earlierCalls.at(-1));

  for (const clause of clausesToServe(conversation, tools)) {
    const waits = planned.length > 0;
    const points = pointsBack(clause);
    // "It" may also be what an earlier call was about: the file that was read.
    const sources = {
      today,
      facts: points ? [...factsOfArguments([...claimed]), ...facts] : facts,
      pointedAt,
    };
    // "It" is what a call that is only being made will answer.
    if (waits && points) continue;
    const choice = chooseTool(
      clause,
      clause.elliptic && previous !== undefined ? [previous] : tools,
      sources,
      clause.elliptic,
    );
    if (choice === undefined) {
      unserved.push(clause);
      findings.push({ kind: 'none', clause });
      continue;
    }
    const { tool, filling } = choice;
    previous = tool;
    if (filling.kind === 'missing' && waits) continue;
    const step = stepFor(tool, filling, clause, sources, made, claimed, tools);
    planned.push(...step.calls);
    if (step.weak) unserved.push(clause);
    findings.push(step.finding);
    for (const call of step.finding.kind === 'none' ? [] : step.finding.calls) claimed.add(call);
    pointedAt =
      textOf(made.findLast((call) => claimed.has(call) && call.outcome?.kind === 'result')) ?? pointedAt;
  }
  const distinct = [...new Map(planned.map((call) => [`${call.tool.name} ${call.json}`, call])).values()];
  return {
    calls: iterations >= MAX_LOCAL_ITERATIONS ? [] : distinct.slice(0, MAX_LOCAL_CALLS),
    unserved,
    findings,
  };
}

interface Step {
  readonly calls: readonly PlannedCall[];
  readonly finding: Finding;
  /** Another tool might do better, if a search finds one. */
  readonly weak: boolean;
}

function stepFor(
  tool: KnownTool,
  filling: Filling,
  clause: Clause,
  sources: Sources,
  made: readonly MadeCall[],
  claimed: ReadonlySet<MadeCall>,
  tools: readonly KnownTool[],
): Step {
  const own = made.filter((call) => call.name === tool.name && !claimed.has(call));
  if (filling.kind === 'missing') {
    // What was called while it could be called is done, whatever has become known since.
    if (own.length > 0) return { calls: [], finding: { kind: 'called', tool, calls: own }, weak: false };
    const producer =
      filling.conflicts.length > 0 ? undefined : producerFor(filling, tool, clause, sources, tools);
    const earlier = producer === undefined ? [] : made.filter((call) => call.name === producer.tool.name);
    const isMade = producer !== undefined && earlier.some((call) => isSame(call.args, producer.value));
    const calls = producer === undefined || isMade ? [] : [producer];
    return { calls, finding: { kind: 'missing', tool, filling, calls: earlier }, weak: calls.length === 0 };
  }
  const calls: PlannedCall[] = [];
  const done: MadeCall[] = [];
  for (const wanted of filling.calls) {
    const { call, next } = follow(wanted, own, filling.calls.length === 1, (args, message) =>
      corrected(tool, args, message, clause, sources),
    );
    if (call !== undefined) done.push(call);
    if (next !== undefined) calls.push({ tool, ...next });
  }
  return { calls, finding: { kind: 'called', tool, calls: done }, weak: false };
}

/** Follows a call over its corrections, to the last that was made, and to the next that is to be made. */
function follow(
  wanted: Arguments,
  own: readonly MadeCall[],
  alone: boolean,
  correct: (args: unknown, message: string) => { readonly json: string; readonly value: unknown } | undefined,
): {
  readonly call: MadeCall | undefined;
  readonly next: { readonly json: string; readonly value: unknown } | undefined;
} {
  const isMade = (args: unknown): MadeCall | undefined => own.findLast((call) => isSame(call.args, args));
  let call =
    isMade(wanted.value) ??
    // Facts that came later do not make it another call.
    (alone && wanted.fromFacts.size > 0 ? own.find((each) => agrees(each.args, wanted)) : undefined);
  if (call === undefined) return { call, next: { json: wanted.json, value: wanted.value } };
  for (let tries = 0; tries < MAX_CORRECTIONS; tries += 1) {
    const { outcome } = call;
    if (outcome?.kind !== 'error' || outcome.code !== 'invalid_arguments') break;
    const next = correct(call.args, outcome.message);
    if (next === undefined) break;
    const again = isMade(next.value);
    if (again === undefined) return { call, next };
    if (again === call) break;
    call = again;
  }
  return { call, next: undefined };
}

function corrected(
  tool: KnownTool,
  args: unknown,
  message: string,
  clause: Clause,
  sources: Sources,
): { readonly json: string; readonly value: unknown } | undefined {
  const value = mend(args, violationsIn(message), (path) => valueAt(path, tool, clause, sources));
  const json = value === undefined ? undefined : JSON.stringify(value);
  return json !== undefined && tool.accepts(json) ? { json, value } : undefined;
}

function agrees(args: unknown, wanted: Arguments): boolean {
  const without = (value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).filter(([key]) => !wanted.fromFacts.has(key)))
      : value;
  return isSame(without(args), without(wanted.value));
}

/** The model writes its arguments itself, so equal ones have equal texts. */
function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function pointsBack(clause: Clause): boolean {
  return (
    clause.tokens.some((token) => token.kind === 'word' && isPointer(token.text)) ||
    askedWords(clause).length === 0
  );
}

function textOf(call: MadeCall | undefined): string | undefined {
  return call?.outcome?.kind === 'result' ? call.outcome.text : undefined;
}
