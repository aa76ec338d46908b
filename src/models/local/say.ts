import { MAX_LOCAL_QUOTE_CHARS, MAX_LOCAL_ROWS } from '../../core/limits.ts';
import { isJsonObject } from '../../schema/json-value.ts';
import type { MadeCall } from './conversation.ts';
import type { Slot } from './forms.ts';
import type { KnownTool } from './known-tool.ts';
import type { Finding } from './plan.ts';
import { spaced } from './words.ts';

/** Tools that an answer names where none fits. */
const MAX_NAMED_TOOLS = 12;

/** What was found out, in plain sentences: what the tools answered, what failed, and what is missing. */
export function say(findings: readonly Finding[], tools: readonly KnownTool[]): string {
  const calls = findings.reduce(
    (sum, finding) => sum + (finding.kind === 'none' ? 0 : finding.calls.length),
    0,
  );
  const sentences = findings.flatMap((finding) => sentencesFor(finding, calls > 1));
  if (findings.every(({ kind }) => kind === 'none')) sentences.push(sayTools(tools));
  return [...new Set(sentences)].join('\n');
}

function sentencesFor(finding: Finding, several: boolean): string[] {
  switch (finding.kind) {
    case 'called':
      return finding.calls.map((call) => sayCall(call, finding.tool, several));
    case 'missing':
      return [...finding.calls.map((call) => sayCall(call, finding.tool, true)), sayMissing(finding)];
    case 'none':
      return [`I have no tool for ${JSON.stringify(cut(finding.clause.text, 200))}.`];
  }
}

export function sayTools(tools: readonly KnownTool[]): string {
  if (tools.length === 0) {
    return 'I have no tools here, and as a small local model I know nothing myself: I can only say what tools answer.';
  }
  const named = tools.slice(0, MAX_NAMED_TOOLS).map(({ name, description }) => {
    const [sentence = ''] = description.split(/(?<=\.)\s|\n/);
    return sentence === '' ? name : `${name} (${cut(sentence.replace(/\.$/, ''), 120)})`;
  });
  const more = tools.length - named.length;
  return `What I can use: ${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`;
}

function sayCall(
  { args, outcome, name }: MadeCall,
  tool: Pick<KnownTool, 'name' | 'deed' | 'readOnly'>,
  several: boolean,
): string {
  const subject = subjectOf(args);
  if (outcome === undefined) return `${name} has not answered${subject === '' ? '' : ` for ${subject}`}.`;
  if (outcome.kind === 'error') {
    const effect = outcome.mayHaveTakenEffect ? ' It may have taken effect all the same.' : '';
    const how = outcome.code === 'denied' ? 'did not run' : 'failed';
    return `${name} ${how}${subject === '' ? '' : ` for ${subject}`}: ${ended(cut(outcome.message))}${effect}`;
  }
  const { value, text } = outcome;
  const said = typeof value === 'string' ? cut(text.trim()) : phrase(value);
  const reads = tool.readOnly || tool.deed === 'read' || tool.deed === undefined || tool.name !== name;
  if (!reads) {
    const done = `Done: ${spaced(name)}${subject === '' ? '' : ` (${subject})`}`;
    return said === '' ? `${done}.` : `${done}. ${ended(isJsonObject(value) ? capital(said) : said)}`;
  }
  if (said === '') return `${name} answered nothing${subject === '' ? '' : ` for ${subject}`}.`;
  const block = said.includes('\n') ? `\n${said}` : ` ${ended(said)}`;
  if (subject !== '' && (several || said.includes('\n'))) return `For ${subject}:${block}`;
  return said.includes('\n') ? `${name} answers:${block}` : ended(isJsonObject(value) ? capital(said) : said);
}

/** The values of the arguments, for a reader to tell calls apart. */
function subjectOf(args: unknown): string {
  if (!isJsonObject(args)) return '';
  const words = Object.entries(args).flatMap(([key, value]) => {
    if (typeof value === 'string') return value.length > 60 ? [] : [value];
    return typeof value === 'number' || typeof value === 'boolean' ? [`${spaced(key)} ${value}`] : [];
  });
  return words.slice(0, 4).join(', ');
}

/** A value in words. Lists of objects come one a line. */
export function phrase(value: unknown): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return 'nothing was found';
    if (!value.some(isJsonObject))
      return joined(value.slice(0, MAX_LOCAL_ROWS).map(scalar), value.length - MAX_LOCAL_ROWS);
    const rows = value
      .slice(0, MAX_LOCAL_ROWS)
      .map((row) => `- ${isJsonObject(row) ? pairs(row) : scalar(row)}`);
    const more = value.length - rows.length;
    return cut([...rows, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'));
  }
  if (!isJsonObject(value)) return cut(scalar(value));
  const entries = Object.entries(value);
  const lists = entries.filter(([, inner]) => Array.isArray(inner) && inner.some(isJsonObject));
  const plain = entries.filter((entry) => !lists.includes(entry));
  const clauses = plain.slice(0, MAX_LOCAL_ROWS).map(([key, inner]) => clauseFor(key, inner));
  const first = joined(clauses, plain.length - MAX_LOCAL_ROWS);
  const rest = lists.map(([key, inner]) => `${spaced(key)}:\n${phrase(inner)}`);
  return cut([...(first === '' ? [] : [first]), ...rest].join('\n'));
}

function clauseFor(key: string, value: unknown): string {
  const name = spaced(key).toLowerCase();
  if (isJsonObject(value)) return `${name} has ${pairs(value)}`;
  if (Array.isArray(value)) {
    return value.length === 0
      ? `there are no ${name}`
      : `the ${name} are ${joined(value.slice(0, MAX_LOCAL_ROWS).map(scalar), value.length - MAX_LOCAL_ROWS)}`;
  }
  if (value === true) return `${name}: yes`;
  if (value === false) return `${name}: no`;
  const plural = /[^siu]s$/.test(name);
  if (plural && typeof value === 'number') return `there are ${value} ${name}`;
  return `the ${name} ${plural ? 'are' : 'is'} ${scalar(value)}`;
}

function pairs(row: Readonly<Record<string, unknown>>): string {
  return Object.entries(row)
    .slice(0, MAX_LOCAL_ROWS)
    .map(([key, value]) => `${spaced(key).toLowerCase()} ${scalar(value)}`)
    .join(', ');
}

function scalar(value: unknown): string {
  return cut(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 500);
}

function joined(words: readonly string[], more: number): string {
  const all = more > 0 ? [...words, `${more} more`] : words;
  const last = all.at(-1) ?? '';
  return all.length < 2 ? last : `${all.slice(0, -1).join(', ')} and ${last}`;
}

function sayMissing({ tool, filling, calls }: Extract<Finding, { kind: 'missing' }>): string {
  const [conflict] = filling.conflicts;
  if (conflict !== undefined) {
    return `I did not call ${tool.name}: its ${nameOf(conflict.slot)} ${conflict.demand}, and you said ${conflict.text}.`;
  }
  if (filling.slots.length === 0)
    return `I could not make arguments that ${tool.name} accepts, so I did not call it.`;
  const wanted = filling.slots.map((slot) => {
    const { choices, description } = slot;
    const hint =
      choices === undefined
        ? (description.split(/\.\s/)[0] ?? '')
        : `one of ${choices.slice(0, 8).map(scalar).join(', ')}`;
    return `the ${nameOf(slot)}${hint === '' ? '' : ` (${cut(hint.replace(/\.$/, ''), 120)})`}`;
  });
  const found = calls.some(({ outcome }) => outcome?.kind === 'result');
  const why = found ? ', and what I found does not say which' : '';
  return `To use ${tool.name} I need ${joined(wanted, 0)}${why}. Please tell me.`;
}

function nameOf({ path }: Slot): string {
  return path.map(spaced).join(' ').toLowerCase();
}

function ended(text: string): string {
  return /[.!?:]$/.test(text) ? text : `${text}.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function cut(text: string, limit = MAX_LOCAL_QUOTE_CHARS): string {
  return text.length > limit ? `${text.slice(0, limit - 1).toWellFormed()}…` : text;
}
