import type { CallEvent, CallResult, Client } from 'spindle';
import { called, heading, outcome, quoted, remark, timeline } from './account.ts';
import type { Step } from './record.ts';

/** Makes a step's calls, tells what came of them, and gives their ids. Judging it is left to verify.ts. */
type Show = (client: Client, number: number) => Promise<readonly string[]>;

interface Told {
  readonly callId: string;
  readonly result: CallResult;
  readonly events: readonly CallEvent[];
  readonly tookMs: number;
}

async function call(client: Client, tool: string, args: string): Promise<Told> {
  const startedAt = performance.now();
  const events: CallEvent[] = [];
  for await (const event of client.stream(tool, { rawArguments: args })) {
    events.push(event);
    if (event.kind === 'finished') {
      const { callId, result } = event;
      return { callId, result, events, tookMs: performance.now() - startedAt };
    }
  }
  throw new Error(`the call of ${tool} had no end`);
}

/** One line for an end, whichever it is: a broken step comes out otherwise than its title says. */
function tell({ result }: Told, success: (value: unknown, text: string) => string): void {
  if (result.ok) outcome('✓', success(result.value, result.text));
  else outcome('✗', `${result.error.code}: ${result.error.message}`);
}

const SLOPPY = "```json\n{path: 'docs/protocol.md', from: 1, to: 3,}\n```";

const FOLDERS = ['cli', 'core', 'engine', 'journal', 'rpc', 'schema', 'sdk', 'workers'];

export const SHOW: Readonly<Record<Step, Show>> = {
  async good(client, number) {
    const args = '{"text":"unreachable(","folder":"src/core"}';
    const told = await call(client, 'search_text', args);
    heading(number, 'A call that works', told.tookMs);
    called('search_text', args);
    tell(told, (value) => JSON.stringify(value));
    remark('Checked by its schema, run by the worker, recorded before it was answered.');
    return [told.callId];
  },

  async mismatch(client, number) {
    const args = '{"path":"README.md","from":"ten","to":20}';
    const told = await call(client, 'read_lines', args);
    heading(number, 'Arguments that do not match', told.tookMs);
    called('read_lines', args);
    if (told.result.ok) {
      tell(told, (_, text) => text);
    } else {
      outcome('✗', `${told.result.error.code}, and the model reads:`);
      quoted(told.result.error.message);
    }
    remark('The engine judges, the worker has the last word, and the handler never ran.');
    return [told.callId];
  },

  async repair(client, number) {
    const told = await call(client, 'read_lines', SLOPPY);
    heading(number, 'Sloppy JSON, as models write it', told.tookMs);
    called('read_lines', SLOPPY);
    tell(
      told,
      (_, text) =>
        `read ${JSON.stringify(text.split('\n')[0])} and ${text.split('\n').length - 1} more lines`,
    );
    const details = told.result.result?.detailsJson ?? '';
    if (details !== '') {
      const { repairs }: { readonly repairs: readonly string[] } = JSON.parse(details);
      remark(`Mended in bounded steps: ${repairs.join(', ')}. No content was invented.`);
    }
    return [told.callId];
  },

  async retry(client, number) {
    const args = '{"extension":".ts"}';
    const told = await call(client, 'count_words', args);
    heading(number, 'An attempt that fails, and is retried', told.tookMs);
    called('count_words', args);
    for (const event of told.events) {
      if (event.kind !== 'retrying') continue;
      outcome(
        '↻',
        `attempt ${event.attempt}: ${event.error.message}; again in ${Math.round(event.backoffMs)} ms`,
      );
    }
    tell(told, (value) => `attempt ${told.result.attempts}: ${JSON.stringify(value)}`);
    remark('The tool says which failures are worth another try, and how many it gets.');
    return [told.callId];
  },

  async deadline(client, number) {
    const args = '{"path":"package.json"}';
    const told = await call(client, 'await_change', args);
    heading(number, 'A deadline that stops the handler', told.tookMs);
    called('await_change', args);
    if (told.result.ok) tell(told, (_, text) => text);
    else
      outcome(
        '✗',
        `${told.result.error.code} after ${Math.round(told.tookMs)} ms: ${told.result.error.message}`,
      );
    remark('The call ends in time, whatever its handler does, and its signal aborts.');
    return [told.callId];
  },

  async output(client, number) {
    const args = '{"path":"package.json"}';
    const told = await call(client, 'count_lines', args);
    heading(number, 'A result that breaks its promise', told.tookMs);
    called('count_lines', args);
    tell(told, (value) => JSON.stringify(value));
    remark('The output schema says integer. What does not match never reaches the model.');
    return [told.callId];
  },

  async picture(client, number) {
    const args = '{"path":"src/main.ts"}';
    const told = await call(client, 'draw_file', args);
    heading(number, 'A picture', told.tookMs);
    called('draw_file', args);
    tell(told, () => {
      const blob = told.result.result?.content[0]?.kind;
      if (blob?.case !== 'blob') return 'no blob';
      const { uri, mimeType, sizeBytes } = blob.value;
      return `${mimeType}, ${sizeBytes} bytes: ${uri.slice(0, 28)}…`;
    });
    remark('The record holds a reference; the bytes are stored under their own hash.');
    return [told.callId];
  },

  async parallel(client, number) {
    const startedAt = performance.now();
    const all = await Promise.all(
      FOLDERS.map((folder) =>
        call(client, 'measure_folder', JSON.stringify({ folder: `src/${folder}`, together: FOLDERS.length })),
      ),
    );
    heading(number, 'Eight calls at the same time', performance.now() - startedAt);
    called('measure_folder', '{"folder":"src/…","together":8}');
    const spans = all.map(({ result }, index) => ({ name: FOLDERS[index] ?? '', span: spanOf(result) }));
    if (spans.every(({ span }) => span !== undefined)) {
      timeline(spans.flatMap(({ name, span }) => (span === undefined ? [] : [{ name, ...span }])));
    } else {
      for (const told of all) tell(told, (value) => JSON.stringify(value));
    }
    remark('None goes on before all eight run: one by one they would never end.');
    return all.map(({ callId }) => callId);
  },
};

function spanOf(result: CallResult): { from: number; to: number; note: string } | undefined {
  if (!result.ok || typeof result.value !== 'object' || result.value === null) return undefined;
  const { startedAt, endedAt, words } = { startedAt: 0, endedAt: 0, words: 0, ...result.value };
  return { from: startedAt, to: endedAt, note: `${words} words` };
}
