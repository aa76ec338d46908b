import type { Clause } from './clauses.ts';
import { type Filling, fill, type Sources } from './fill.ts';
import type { KnownTool } from './known-tool.ts';
import { deedAsked, rankTools } from './rank.ts';

/** Tools whose arguments are tried for one clause. */
const MAX_TRIED = 6;

/** The tool that a clause is for, with its arguments, or with what is missing for them. */
export function chooseTool(
  clause: Clause,
  tools: readonly KnownTool[],
  sources: Sources,
  given: boolean,
): { readonly tool: KnownTool; readonly filling: Filling } | undefined {
  const ranked = given
    ? tools.map((tool) => ({ tool, score: 1 }))
    : rankTools(clause, tools).slice(0, MAX_TRIED);
  if (ranked.length === 0) return chooseByValues(clause, tools, sources);
  const best = ranked[0]?.score ?? 0;
  const near = deedAsked(clause) === 'read' ? NEAR : NEAR_FOR_DEEDS;
  const close = ranked.filter(({ score }) => score >= best * near);
  const options = close.map(({ tool, score }) => {
    const filling = fill(tool, clause, sources);
    const fit =
      filling.kind === 'filled'
        ? 1 + Math.min(filling.score, 20) * 0.04
        : -0.4 * Math.min(filling.slots.length + filling.conflicts.length, 3);
    return { tool, filling, total: score + fit };
  });
  const [first] = options;
  // What the best tool refuses is not done by another one.
  if (first?.filling.kind === 'missing' && first.filling.conflicts.length > 0) return first;
  return options.toSorted((left, right) => right.total - left.total)[0];
}

/** Tools whose words fit so much less than those of the best are not what was meant, however well values fit. */
const NEAR = 0.6;
/** Nothing is paid, sent or changed by a tool that merely resembles the one that was meant. */
const NEAR_FOR_DEEDS = 0.9;

/** Where no words tell, values may: "10 USD in EUR" is what a tool wants that takes an amount and two currencies. */
function chooseByValues(
  clause: Clause,
  tools: readonly KnownTool[],
  sources: Sources,
): { readonly tool: KnownTool; readonly filling: Filling } | undefined {
  const fitting = tools
    .filter(
      (tool) =>
        (tool.readOnly || tool.deed === 'read') && tool.slots.filter(({ required }) => required).length > 1,
    )
    .slice(0, MAX_TRIED_BY_VALUES)
    .map((tool) => ({ tool, filling: fill(tool, clause, { ...sources, facts: [] }) }))
    .filter(({ filling }) => filling.kind === 'filled' && filling.score >= LEAST_CERTAINTY);
  return fitting.length === 1 ? fitting[0] : undefined;
}

const MAX_TRIED_BY_VALUES = 32;
const LEAST_CERTAINTY = 12;
