import type { Slot } from './forms.ts';
import type { MentionKind } from './mention.ts';
import { stem } from './words.ts';

/** What kind of thing a slot wants, told by its format and by its name. */
export type Role =
  | 'email'
  | 'url'
  | 'path'
  | 'date'
  | 'time'
  | 'place'
  | 'person'
  | 'id'
  | 'unit'
  | 'amount'
  | 'limit'
  | 'source'
  | 'target'
  | 'topic'
  | 'content'
  | 'item';

const NAMES: Readonly<Record<Role, string>> = {
  email: 'email mail cc bcc',
  url: 'url uri link website page href',
  path: 'path file filename filepath folder directory dir',
  date: 'date day due when deadline start end since until begin birthday',
  time: 'time at when hour start',
  place: 'city place location country town region destination address where state',
  person:
    'name person user username customer client contact recipient to attendee owner assignee payee author employee who guest member',
  id: 'id identifier number key code reference ref sku uuid account order invoice ticket issue',
  unit: 'unit units currency',
  amount: 'amount value price total sum cents quantity number count money',
  limit: 'limit max count n top results days hours minutes',
  source: 'from source sender origin start since begin payer src base',
  target: 'to target destination recipient until end payee receiver dest into',
  topic: 'query topic subject term keyword keywords search question q pattern phrase needle text',
  content:
    'content contents body message text note comment description prompt input question summary reason answer details expression sql statement command code words request instruction instructions',
  item: 'item title task todo name subject product summary label',
};

const ROLES = Object.entries(NAMES).map(
  ([role, words]) => [role as Role, new Set(words.split(' ').map(stem))] as const,
);

const FORMATS: Readonly<Record<string, Role>> = {
  email: 'email',
  uri: 'url',
  url: 'url',
  'uri-reference': 'url',
  date: 'date',
  'date-time': 'date',
  time: 'time',
  uuid: 'id',
};

const known = new WeakMap<Slot, ReadonlySet<Role>>();

export function rolesOf(slot: Slot): ReadonlySet<Role> {
  const found = known.get(slot) ?? findRoles(slot);
  known.set(slot, found);
  return found;
}

function findRoles({ words, format, context }: Slot): ReadonlySet<Role> {
  const formatted = FORMATS[format];
  const roles = new Set<Role>(formatted === undefined ? [] : [formatted]);
  for (const [role, names] of ROLES) {
    if (words.some((word) => names.has(word))) roles.add(role);
  }
  // The item of a list, or the member of an object, is often called value or name: what holds it says more.
  if (roles.size === 0) {
    for (const [role, names] of ROLES) if (context.some((word) => names.has(word))) roles.add(role);
  }
  return roles;
}

/** How well a value of a kind suits a role: 0 is not at all. */
export const SUITS: Readonly<Record<Role, Partial<Record<MentionKind, number>>>> = {
  email: { email: 8 },
  url: { url: 8, path: 1 },
  path: { path: 8, quoted: 4, url: 1, phrase: 2, name: 2 },
  date: { date: 7, moment: 6, relative: 6 },
  time: { time: 7, moment: 5, relative: 2 },
  place: { name: 5, quoted: 4, phrase: 3 },
  person: { name: 5, email: 4, quoted: 4, phrase: 2 },
  id: { uuid: 8, code: 6, number: 4, quoted: 3, name: 1 },
  unit: { unit: 5, code: 5, phrase: 3 },
  amount: { number: 4 },
  limit: { number: 3 },
  source: { unit: 3, name: 3, phrase: 3, code: 3, path: 3, quoted: 2 },
  target: { name: 3, phrase: 3, code: 3, path: 3, email: 4, quoted: 2 },
  topic: { quoted: 7, tail: 7 },
  content: { quoted: 7, tail: 8, statement: 9 },
  item: { quoted: 7, tail: 5 },
};

/** Words before a value, and the roles that they point to. */
export const CUES: Readonly<Record<string, readonly Role[]>> = {
  to: ['target', 'email', 'person', 'unit'],
  into: ['target', 'unit'],
  from: ['source'],
  in: ['place', 'path', 'unit'],
  inside: ['path', 'place'],
  within: ['path'],
  at: ['time', 'place'],
  on: ['date', 'place'],
  for: ['topic', 'person', 'place', 'item'],
  of: ['place', 'path', 'item', 'person'],
  about: ['topic', 'content'],
  regarding: ['topic'],
  with: ['person', 'email', 'content'],
  near: ['place'],
  until: ['target', 'date'],
  till: ['target', 'date'],
  since: ['source', 'date'],
  due: ['date'],
  before: ['date', 'target'],
  after: ['date', 'source'],
  by: ['date', 'person'],
  called: ['item', 'path', 'person'],
  named: ['item', 'path', 'person'],
  titled: ['item'],
  entitled: ['item'],
  saying: ['content'],
  says: ['content'],
  say: ['content'],
  ':': ['content', 'item'],
  first: ['limit'],
  top: ['limit'],
  last: ['limit'],
  most: ['limit'],
};
