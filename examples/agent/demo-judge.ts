import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'spindle';

/** What the demonstration did, and where. */
export interface DemoRecord {
  readonly address: string;
  /** The files that the tools worked on. */
  readonly folder: string;
  /** Gets a line each time the slow tool runs. */
  readonly ledger: string;
  readonly sessions: Readonly<Record<'read' | 'write' | 'survive', string>>;
}

export interface Finding {
  readonly ok: boolean;
  readonly text: string;
}

/** Looks at the logs of the sessions and at the files themselves, whatever the model has said. */
export async function judge({ address, folder, ledger, sessions }: DemoRecord): Promise<readonly Finding[]> {
  await using client = createClient({ address });

  /** The results of a tool in a session, in order, and whether each turn of it has finished. */
  async function logOf(sessionId: string, toolName: string) {
    const results: string[] = [];
    const names = new Map<string, string>();
    let turns = 0;
    for await (const { kind } of client.events(sessionId, { recordedOnly: true })) {
      if (kind.case === 'toolCallRequested') names.set(kind.value.callId, kind.value.name);
      if (kind.case === 'turnEnded' && kind.value.outcome.case === 'finished') turns += 1;
      if (kind.case !== 'toolCallFinished' || names.get(kind.value.callId) !== toolName) continue;
      const { outcome } = kind.value;
      results.push(outcome.case === 'result' ? (outcome.value.structuredJson ?? '') : 'failed');
    }
    return { results, turns };
  }

  const fileOf = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const counted = ['errors.md', 'cli.md'].map((name) => fileOf(name).match(/\S+/g)?.length ?? 0);
  const read = await logOf(sessions.read, 'count_words');
  const words = read.results.map((json) => Number(JSON.parse(json || '{}').words));
  const write = await logOf(sessions.write, 'write_note');
  const survive = await logOf(sessions.survive, 'checksum_files');
  const runs = readFileSync(ledger, 'utf8').trim().split('\n').length;
  return [
    {
      ok: read.turns === 1 && counted.every((count) => words.includes(count)),
      text: `the files have ${counted.join(' and ')} words, counted again`,
    },
    {
      ok: write.turns === 1 && write.results.length === 1 && fileOf(NOTE).trim() !== '',
      text: `${NOTE} was written once, after a yes`,
    },
    {
      ok: survive.turns === 1 && survive.results.length === 1 && runs === 1,
      text: 'the call that outlived its engine ran once, and its result is in the log',
    },
  ];
}

export const NOTE = 'birds.md';
