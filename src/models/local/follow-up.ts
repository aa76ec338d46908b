import { type Clause, clausesOf } from './clauses.ts';
import type { Conversation } from './conversation.ts';
import type { KnownTool } from './known-tool.ts';
import type { Mention } from './mention.ts';
import { rankTools } from './rank.ts';
import { mentionsIn } from './read-clause.ts';
import { deedOf } from './synonyms.ts';

/** The clauses of the goal. One that names no tool goes on with what was asked before: "and in Lima?" */
export function clausesToServe(
  { goal, earlierGoals }: Conversation,
  tools: readonly KnownTool[],
): readonly Clause[] {
  const verbs = new Set(tools.flatMap(({ nameStems }) => nameStems.slice(0, 1)));
  const clauses = clausesOf(goal, verbs);
  const named = (list: readonly Clause[]): boolean =>
    list.some((clause) => rankTools(clause, tools).length > 0);
  const words = clauses.flatMap(({ tokens }) => tokens.filter(({ kind }) => kind !== 'mark'));
  const isOwn = words.length > MAX_FOLLOW_UP_WORDS || (!FOLLOW_UP.test(goal) && asksByItself(clauses));
  if (named(clauses) || isOwn) return clauses;
  const before = earlierGoals.find((earlier) => named(clausesOf(earlier, verbs)));
  if (before === undefined) return clauses;
  // What is new stands in the place of what is like it in the earlier words.
  const fresh = goal.replace(/[\s.!?]+$/, '').replace(FOLLOW_UP, '');
  return clausesOf(`${fresh}: ${withoutLike(clauses, clausesOf(before, verbs), tools)}`, verbs);
}

/** "What about" says nothing but that more comes. */
const FOLLOW_UP = /^(?:and |or |now |also |what about |how about |what of )+/i;

/** A verb or a question of its own is no continuation, even if no tool is there for it: "Tell me a joke". */
function asksByItself(clauses: readonly Clause[]): boolean {
  return clauses.some(({ tokens: [first] }) => {
    if (first?.kind !== 'word') return false;
    return (
      deedOf(first.stem) !== undefined ||
      /^(?:what|who|when|where|which|why|how|is|are|do|does|can)$/i.test(first.text)
    );
  });
}

/** The earlier words without the values of the kinds that the new ones hold. */
function withoutLike(
  fresh: readonly Clause[],
  before: readonly Clause[],
  tools: readonly KnownTool[],
): string {
  const kindOf = ({ kind }: Mention): string => (kind === 'phrase' ? 'name' : kind);
  return before
    .map((clause) => {
      const tool = rankTools(clause, tools)[0]?.tool;
      if (tool === undefined) return clause.text;
      const kinds = new Set(fresh.flatMap((each) => mentionsIn(each, tool)).map(kindOf));
      let text = clause.text.charAt(0).toLowerCase() + clause.text.slice(1);
      for (const mention of mentionsIn(clause, tool).toReversed()) {
        if (kinds.has(kindOf(mention))) text = text.slice(0, mention.start) + text.slice(mention.end);
      }
      return text;
    })
    .join('; ');
}

/** A longer text is a wish of its own. */
const MAX_FOLLOW_UP_WORDS = 8;
