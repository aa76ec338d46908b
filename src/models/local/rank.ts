import type { Clause } from './clauses.ts';
import type { KnownTool } from './known-tool.ts';
import { areSynonyms, type Deed, deedOf } from './synonyms.ts';
import { isFiller, isPreposition } from './words.ts';

export interface Ranked {
  readonly tool: KnownTool;
  /** How much of what is asked for the tool's words say. */
  readonly score: number;
}

/** Below this a tool has nothing to do with the clause. */
const LEAST_SCORE = 0.6;

/** The tools whose own words say what a clause asks for, best first. */
export function rankTools(clause: Clause, tools: readonly KnownTool[]): Ranked[] {
  const asked = askedWords(clause);
  if (asked.length === 0) return [];
  const weights = asked.map((word) => {
    const having = tools.filter((tool) => likeness(word, tool) > 0).length;
    return having === 0 ? 0 : 1 + Math.log((1 + tools.length) / (1 + having));
  });
  const deed = deedAsked(clause);
  return tools
    .map((tool) => {
      const matches = asked.map((word, index) => likeness(word, tool) * (weights[index] ?? 0));
      const lexical = matches.reduce((sum, each) => sum + each, 0);
      return { tool, score: lexical === 0 ? 0 : lexical + deedScore(deed, tool) };
    })
    .filter(({ score }) => score >= LEAST_SCORE)
    .toSorted((left, right) => right.score - left.score);
}

/** The stems of the words that ask: neither fillers nor values. */
export function askedWords(clause: Clause): string[] {
  const stems = clause.tokens.flatMap((token) => {
    if (token.kind !== 'word' || isPreposition(token.text)) return [];
    return isFiller(token.stem) && deedOf(token.stem) === undefined ? [] : [token.stem];
  });
  return [...new Set(stems)].filter((word) => !ALWAYS_SAID.has(word));
}

/** Said with every tool, so they tell none from the others. */
const ALWAYS_SAID = new Set([
  'tell',
  'show',
  'giv',
  'give',
  'get',
  'go',
  'what',
  'which',
  'who',
  'when',
  'where',
  'how',
  'is',
  'be',
  'doe',
  'do',
  'does',
  'are',
  'use',
  'many',
  'much',
  'tool',
]);

function likeness(word: string, tool: KnownTool): number {
  if (tool.nameStems.includes(word)) return 1;
  if (tool.descriptionStems.has(word)) return 0.7;
  const inName = tool.nameStems.some((each) => areSynonyms(each, word));
  if (inName) return 0.6;
  if (tool.namespaceStems.has(word)) return 0.4;
  if (tool.slots.some(({ words }) => words.includes(word))) return 0.5;
  if (tool.slots.some(({ choices }) => choices?.some((choice) => String(choice).toLowerCase() === word)))
    return 0.4;
  if ([...tool.descriptionStems].some((each) => areSynonyms(each, word))) return 0.35;
  return tool.slots.some(({ descriptionStems }) => descriptionStems.has(word)) ? 0.3 : 0;
}

/** What the clause wants done, by its first verb. */
export function deedAsked(clause: Clause): Deed | undefined {
  for (const token of clause.tokens) {
    if (token.kind !== 'word') continue;
    const deed = deedOf(token.stem);
    if (deed !== undefined) return deed;
    if (!isFiller(token.stem)) return undefined;
  }
  return undefined;
}

/** A tool that deletes is not the answer to a question, and one that reads deletes nothing. */
function deedScore(asked: Deed | undefined, { deed, readOnly }: KnownTool): number {
  const does = readOnly ? 'read' : deed;
  if (asked === undefined || does === undefined) return 0;
  if (asked === does) return 0.4;
  if (asked === 'read' || does === 'read') return -2;
  // What one calls sending, writing or marking, another calls creating or changing; deleting is always meant.
  return asked === 'delete' || does === 'delete' ? -2 : -0.3;
}
