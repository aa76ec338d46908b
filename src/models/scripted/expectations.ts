import type { ChatMessage, Part } from '../../../gen/spindle/v1/message_pb.ts';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import type { ModelRequest } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Expectations } from './script.ts';

/** What a request is not that a script expects of it, one sentence each; nothing where it is all of it. */
export function unmet(expected: Expectations, request: ModelRequest): string[] {
  const problems: string[] = [];
  const demand = (holds: boolean, what: string): void => {
    if (!holds) problems.push(what);
  };
  const { model, system = [], last = [], messages, tools } = expected;
  if (model !== undefined) {
    const named = request.model.slice(request.model.indexOf('/') + 1);
    demand(named === model, `the model ${quote(model)}, and was asked as ${quote(named)}`);
  }
  const instructions = request.messages
    .filter(({ role }) => role === Role.SYSTEM)
    .map(textOf)
    .join('\n');
  for (const words of system) demand(instructions.includes(words), `${quote(words)} in the system message`);
  const newest = request.messages.at(-1);
  for (const words of last) {
    const said = newest === undefined ? '' : textOf(newest);
    demand(said.includes(words), `${quote(words)} in the last message, which says ${quote(said)}`);
  }
  if (messages !== undefined) {
    const sent = request.messages.map((message) => `${ROLES[message.role]}: ${textOf(message)}`);
    demand(sent.length === messages.length, `${messages.length} messages, and was sent ${sent.length}`);
    for (const [index, line] of messages.entries()) {
      const colon = line.indexOf(':');
      const words = line.slice(colon + 1).trim();
      const found = sent[index] ?? 'nothing';
      demand(
        found.startsWith(line.slice(0, colon + 1)) && found.includes(words),
        `message ${index + 1} to be ${quote(line)}, and was sent ${quote(found)}`,
      );
    }
  }
  if (tools !== undefined) {
    const offered = request.tools
      .map(({ name }) => name)
      .toSorted()
      .join(', ');
    const wanted = tools.toSorted().join(', ');
    demand(offered === wanted, `the tools ${wanted || 'none'}, and was offered ${offered || 'none'}`);
  }
  return problems;
}

const ROLES: Readonly<Record<Role, string>> = {
  [Role.UNSPECIFIED]: 'unspecified',
  [Role.SYSTEM]: 'system',
  [Role.USER]: 'user',
  [Role.ASSISTANT]: 'assistant',
  [Role.TOOL]: 'tool',
};

function textOf({ parts }: ChatMessage): string {
  return parts.map(wordsOf).join('\n');
}

function wordsOf({ kind }: Part): string {
  switch (kind.case) {
    case 'content':
      return kind.value.kind.case === 'text' ? kind.value.kind.value.text : '';
    case 'toolCall':
      return `${kind.value.name} ${kind.value.arguments}`;
    case 'toolResult': {
      const { outcome } = kind.value;
      if (outcome.case === 'error') return `${outcome.value.code} ${outcome.value.message}`;
      const blocks = outcome.value?.content ?? [];
      const texts = blocks.flatMap(({ kind: block }) => (block.case === 'text' ? [block.value.text] : []));
      return [...texts, outcome.value?.structuredJson ?? ''].join('\n');
    }
    case 'reasoning':
      return kind.value.text;
    case undefined:
      return '';
  }
}

/** A script and its conversation are the author's own words; a long one is cut. */
function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 199).toWellFormed()}…` : text);
}
