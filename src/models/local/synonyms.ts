import { stem } from './words.ts';

/**
 * Words that people and the authors of tools use for one another. General English only: nothing here is about a
 * certain tool. A word may stand in several groups.
 */
const GROUPS: readonly string[] = [
  'read open view contents cat',
  'list show enumerate display see ls',
  'get fetch retrieve obtain give show read look check',
  'find search lookup look locate seek query',
  'create add make new insert register append put',
  'write save store note jot',
  'schedule book plan arrange organize',
  'delete remove erase drop discard cancel clear',
  'update change edit modify set rename adjust correct',
  'complete finish close done mark tick check resolve',
  'send deliver forward mail email message tell write',
  'transfer move wire pay payment send money funds',
  'convert conversion change exchange',
  'translate translation',
  'calculate compute calculation evaluate',
  'sum add total plus',
  'count number many amount',
  'weather forecast temperature rain snow sunny cloudy climate hot cold warm degrees wind',
  'file document doc',
  'folder directory',
  'calendar event meeting appointment agenda schedule',
  'todo task reminder remind',
  'remind reminder',
  'note memo',
  'email mail inbox',
  'message text sms chat',
  'user person customer client contact people',
  'employee staff colleague',
  'time clock hour',
  'date day today',
  'price cost worth rate quote',
  'buy purchase order shop',
  'web internet online site page',
  'run execute start launch',
  'stop halt end terminate kill',
  'distance far length',
  'image picture photo',
  'balance money account',
  'stock share ticker',
  'table database rows records sql',
  'city town place location',
  'recipient to receiver payee',
  'sender from source',
  'phone telephone number call',
  'currency money euro dollar pound yen',
  'song music track play',
  'light lamp bulb',
  'ticket issue bug',
  'news headline article',
  'word term',
  'size big large',
];

const GROUPS_OF = new Map<string, Set<number>>();
for (const [group, words] of GROUPS.entries()) {
  for (const word of words.split(' ')) {
    const found = GROUPS_OF.get(stem(word)) ?? new Set();
    GROUPS_OF.set(stem(word), found.add(group));
  }
}

/** Whether two stems may mean the same. */
export function areSynonyms(left: string, right: string): boolean {
  if (left === right) return true;
  const groups = GROUPS_OF.get(left);
  const others = GROUPS_OF.get(right);
  if (groups === undefined || others === undefined) return false;
  for (const group of groups) if (others.has(group)) return true;
  return false;
}

/** What a verb does to the world. */
export type Deed = 'read' | 'create' | 'delete' | 'update' | 'send';

const DEEDS: Readonly<Record<Deed, string>> = {
  read: 'read open view show list display get fetch retrieve find search lookup look check count query see what which who when where how is are does tell print weather forecast convert calculate compute translate describe summarize',
  create:
    'create add make new insert register append write save store schedule book plan remind note put jot',
  delete: 'delete remove erase drop discard cancel clear destroy',
  update: 'update change edit modify set rename adjust complete finish mark close resolve tick',
  send: 'send deliver forward email mail transfer wire pay post publish message',
};

const DEED_OF = new Map<string, Deed>();
for (const deed of ['read', 'create', 'delete', 'update', 'send'] as const) {
  for (const word of DEEDS[deed].split(' ')) if (!DEED_OF.has(stem(word))) DEED_OF.set(stem(word), deed);
}

/** Undefined for a word that is no common verb. */
export function deedOf(wordStem: string): Deed | undefined {
  return DEED_OF.get(wordStem);
}
