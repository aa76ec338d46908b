import type { Clause } from './clauses.ts';
import { type Filling, fill, type Sources } from './fill.ts';
import type { Slot } from './forms.ts';
import type { KnownTool } from './known-tool.ts';
import type { PlannedCall } from './plan.ts';
import { rolesOf } from './roles.ts';
import { deedOf } from './synonyms.ts';
import { wordsOf } from './words.ts';

/**
 * A call whose result may hold what is missing: the address of a contact, say, before a message is sent. Only
 * tools that read are called for this, since nobody has asked for them.
 */
export function producerFor(
  { slots: missing, spare }: Extract<Filling, { kind: 'missing' }>,
  tool: KnownTool,
  clause: Clause,
  sources: Sources,
  tools: readonly KnownTool[],
): PlannedCall | undefined {
  let best: { readonly call: PlannedCall; readonly score: number } | undefined;
  for (const candidate of tools) {
    if (candidate.name === tool.name || candidate.destructive) continue;
    if (!candidate.readOnly && candidate.deed !== 'read') continue;
    const promise = Math.max(0, ...missing.map((slot) => promises(candidate, slot, tool)));
    if (promise === 0) continue;
    const filling = fill(candidate, clause, sources);
    const [first] = filling.kind === 'filled' ? filling.calls : [];
    // What is called on a guess is asked for what was clearly said, and found no other place.
    const asksForSpare =
      first !== undefined && spare.some((text) => first.json.includes(JSON.stringify(text)));
    if (first === undefined || (first.json !== '{}' && (filling.score < LEAST_CERTAINTY || !asksForSpare)))
      continue;
    const score = promise + Math.min(filling.score, 20) * 0.05;
    const call = { tool: candidate, json: first.json, value: first.value };
    if (best === undefined || score > best.score) best = { call, score };
  }
  return best?.call;
}

const LEAST_CERTAINTY = 3;

/** How likely a tool's result holds a value for a slot, by its output schema, else by its own words. */
function promises(candidate: KnownTool, slot: Slot, tool: KnownTool): number {
  const roles = rolesOf(slot);
  const nouns = roles.has('email') || slot.format === 'email' ? ['email', ...slot.words] : slot.words;
  const about = [...slot.context, ...tool.nameStems, ...slot.words];
  const exact = candidate.outputs.some((output) => nouns.every((noun) => output.includes(noun)));
  if (exact) return 3;
  if (candidate.outputs.some((output) => nouns.some((noun) => output.at(-1) === noun))) return 2;
  if (roles.has('email') || roles.has('target') || roles.has('person')) {
    if (candidate.outputs.some((output) => output.includes('email'))) return 2;
    if (candidate.descriptionStems.has('email') && slot.format === 'email') return 1.5;
  }
  if (candidate.outputs.length > 0) return 0;
  const says = (word: string): boolean => candidate.nameStems.includes(word) || answers(candidate, word);
  if (nouns.some((noun) => noun !== 'id' && says(noun))) return 1;
  // An id is one of the things that the tool is about.
  const things = about.filter((word) => word !== 'id' && deedOf(word) === undefined);
  return roles.has('id') && things.some((thing) => candidate.nameStems.includes(thing)) ? 0.8 : 0;
}

/** Whether a description names a thing, and not as what the tool works on: "the balance of an account" is no account. */
function answers({ description }: KnownTool, noun: string): boolean {
  const words = wordsOf(description);
  return words.some(
    ({ stem }, index) =>
      stem === noun &&
      !words
        .slice(Math.max(0, index - 2), index)
        .some(({ text }) => /^(?:in|of|by|for|at|from|to)$/i.test(text)),
  );
}
