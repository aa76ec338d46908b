import type { Clause } from './clauses.ts';
import type { KnownTool } from './known-tool.ts';
import type { Bare, Mention } from './mention.ts';
import { areSynonyms, deedOf } from './synonyms.ts';
import { isConjunction, type Token } from './tokens.ts';
import { isFiller, isPreposition, nameStems, spaced } from './words.ts';

/**
 * Everything in a clause that can be a value of a tool's arguments, in order, each with the words that lead to it.
 * Words that the tool's own names and description use are what is talked about, and no values.
 */
export function mentionsIn(clause: Clause, tool: KnownTool): Mention[] {
  const mentions: Mention[] = [];
  const { tokens } = withChoices(clause, tool);
  let cue = '';
  let label = '';
  let listGoesOn = false;
  let betweenCue = false;
  let run: { first: Token; last: Token; capital: boolean } | undefined;

  const add = (bare: Bare): void => {
    const previous = mentions.at(-1);
    const joined = listGoesOn && previous !== undefined;
    if (joined && betweenCue) mentions.push({ ...bare, cue: 'to', label: '', joined: false });
    else if (joined) mentions.push({ ...bare, cue: previous.cue, label: previous.label, joined });
    else mentions.push({ ...bare, cue: betweenCue ? 'from' : cue, label, joined });
    betweenCue &&= !joined;
    cue = '';
    label = '';
    listGoesOn = false;
  };
  const addUnit = (text: string, { start, end }: Token): void => {
    mentions.push({ kind: 'unit', text, start, end, cue: 'from', label: '', joined: false });
  };
  const close = (): void => {
    if (run === undefined) return;
    const { first, last, capital } = run;
    run = undefined;
    const text = clause.text.slice(first.start, last.end).replace(/[’']s?$/, '');
    add({ kind: capital ? 'name' : 'phrase', text, start: first.start, end: last.end });
  };

  for (const [index, token] of tokens.entries()) {
    if (isConjunction(token)) {
      close();
      listGoesOn = mentions.length > 0 && cue === '' && label === '';
      continue;
    }
    if (token.kind === 'value') {
      // What was quoted after a list went on is no part of it.
      close();
      add(token.value);
      if (token.value.currency !== undefined && token.value.unit === undefined)
        addUnit(token.value.currency, token);
      continue;
    }
    if (token.kind === 'mark') {
      close();
      listGoesOn = false;
      if (token.text === ':') cue = ':';
      continue;
    }
    const lower = token.text.toLowerCase();
    const name = isName(tokens, index);
    if (TAIL.test(lower) && index + 1 < tokens.length && tokens[index + 1]?.kind === 'word') {
      close();
      const start = tokens[index + 1]?.start ?? token.end;
      listGoesOn = false;
      cue = 'saying';
      label = '';
      const text = clause.text.slice(start).replace(/[\s.!?]+$/, '');
      add({ kind: 'tail', text, start, end: start + text.length });
      break;
    }
    if (isPreposition(lower) && !name) {
      close();
      // "in Oslo and in Lima" is the same list as "in Oslo and Lima".
      listGoesOn &&= mentions.at(-1)?.cue === lower;
      cue = lower;
      label = '';
      betweenCue = lower === 'between';
    } else if (ORDINALS.test(lower)) {
      close();
      cue = lower;
    } else if (!name && (isFiller(token.stem) || isPronoun(lower))) {
      if (run !== undefined) close();
    } else if (!name && isUnitOf(token.stem, mentions, run)) {
      addUnit(mentions.at(-1)?.currency ?? token.text, token);
    } else if (!name && isTopic(token.stem, tool) && !isBareObject(tokens, index, tool)) {
      close();
      // The verb that asks is no name of what follows.
      const asks = mentions.length === 0 && label === '' && deedOf(token.stem) !== undefined;
      if (asks) continue;
      // "width 3 and height 4" is no list; "tasks 3 and tasks 4" is one.
      listGoesOn &&= mentions.at(-1)?.label === token.stem;
      label = token.stem;
    } else if (index === 0 && isVerb(tokens)) {
      // A verb that no tool knows: "turn the light on".
    } else if (run === undefined) {
      run = { first: token, last: token, capital: name };
      if (/[’']s$/.test(token.text)) close();
    } else {
      run = { ...run, last: token };
    }
  }
  close();
  return mentions;
}

const TAIL = /^(?:saying|says|say)$/;
const ORDINALS = /^(?:first|top|last|most)$/;

function isPronoun(word: string): boolean {
  return /^(?:i|me|he|him|his|she|her|they|them|themselves|someone|everybody|everyone)$/.test(word);
}

/** The first word of a clause is its verb where an article or a particle follows. */
function isVerb([, next]: readonly Token[]): boolean {
  return (
    next?.kind === 'word' && /^(?:a|an|the|my|our|this|that|all|on|off|up|down|out|me)$/i.test(next.text)
  );
}

/** Capitals tell a name, but for the word that a sentence begins with, unless another follows it. */
function isName(tokens: readonly Token[], index: number): boolean {
  const token = tokens[index];
  const capital = (each: Token | undefined): boolean => each?.kind === 'word' && /^\p{Lu}/u.test(each.text);
  if (token?.kind !== 'word' || !capital(token) || token.text === 'I') return false;
  if (index > 0) return true;
  return capital(tokens[1]) && !isFiller(token.stem) && deedOf(token.stem) === undefined;
}

/** "In docs" names a folder, though docs are files: right after a preposition only the tool's own words are its own. */
function isBareObject(tokens: readonly Token[], index: number, tool: KnownTool): boolean {
  const [before, token] = [tokens[index - 1], tokens[index]];
  if (before?.kind !== 'word' || token?.kind !== 'word' || !isPreposition(before.text)) return false;
  const isOwn = [...tool.descriptionStems, ...tool.namespaceStems, ...tool.nameStems].includes(token.stem);
  return !isOwn && !tool.slots.some(({ words }) => words.includes(token.stem));
}

/** What a word means that the tool's own words say, literally or in other words. */
export function isTopic(wordStem: string, tool: KnownTool): boolean {
  if (tool.descriptionStems.has(wordStem) || tool.namespaceStems.has(wordStem)) return true;
  if (tool.nameStems.some((each) => areSynonyms(each, wordStem))) return true;
  return tool.slots.some(({ words }) => words.some((word) => areSynonyms(word, wordStem)));
}

function isUnitOf(wordStem: string, mentions: readonly Mention[], run: unknown): boolean {
  const number = mentions.at(-1);
  return run === undefined && number?.kind === 'number' && number.unit === wordStem;
}

/** Words that a schema lists as a value are that value, whatever else they could be. */
function withChoices(clause: Clause, tool: KnownTool): { readonly tokens: readonly Token[] } {
  const listed = new Map<string, unknown>();
  for (const choice of [...tool.slots.flatMap(({ choices }) => choices ?? []), ...tool.fixed]) {
    if (typeof choice === 'string' && choice !== '') listed.set(nameStems(choice).join(' '), choice);
  }
  if (listed.size === 0) return { tokens: clause.tokens };
  const tokens: Token[] = [];
  for (let at = 0; at < clause.tokens.length; ) {
    const length = [3, 2, 1].find((count) => listed.has(phraseAt(clause.tokens, at, count)));
    const first = clause.tokens[at];
    const last = clause.tokens[at + (length ?? 1) - 1];
    if (first === undefined || last === undefined) break;
    if (length === undefined) tokens.push(first);
    else {
      const text = String(listed.get(phraseAt(clause.tokens, at, length)));
      const value: Bare = { kind: 'choice', text, start: first.start, end: last.end };
      tokens.push({ kind: 'value', value, start: first.start, end: last.end });
    }
    at += length ?? 1;
  }
  return { tokens };
}

function phraseAt(tokens: readonly Token[], at: number, count: number): string {
  const slice = tokens.slice(at, at + count);
  if (slice.length < count) return '\n';
  const words = slice.map((token) => {
    if (token.kind === 'word') return nameStems(token.text).join(' ');
    return token.kind === 'value' && !['quoted', 'number'].includes(token.value.kind)
      ? nameStems(spaced(token.value.text)).join(' ')
      : '\n';
  });
  return words.join(' ');
}
