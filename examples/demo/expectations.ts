import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, CallStatus, type Client } from 'spindle';
import { readPng } from './read-png.ts';
import { ROOT, type Step } from './record.ts';

interface Evidence {
  readonly client: Client;
  readonly workspace: string;
  readonly callIds: readonly string[];
}

/** Gives in a few words what was found; rejects with what is otherwise than it should be. */
type Expectation = (evidence: Evidence) => Promise<string>;

export const EXPECTED: Readonly<Record<Step, Expectation>> = {
  async good(evidence) {
    const call = await only(evidence, 'search_text');
    const { text, folder } = JSON.parse(call.arguments);
    const found = texts(`${folder}/**/*.ts`).map((content) => occurrences(content, text));
    const matches = sum(found);
    equal(call.attempt, 1, 'attempts');
    equal(structured(call), { matches, files: found.filter((count) => count > 0).length }, 'the result');
    return `${matches} matches, counted again in the files`;
  },

  async mismatch(evidence) {
    const call = await only(evidence, 'read_lines');
    const { message } = failed(call, 'invalid_arguments', 1);
    equal(message.includes('/from'), true, 'the message names /from');
    equal(message.includes('ten'), false, 'the message holds the value');
    return 'the error names /from, and not its value';
  },

  async repair(evidence) {
    const call = await only(evidence, 'read_lines');
    equal(call.arguments.startsWith('```json'), true, 'the record keeps the arguments as they came');
    equal(textOf(call), content('docs/protocol.md').split('\n').slice(0, 3).join('\n'), 'the lines');
    equal(JSON.parse(resultOf(call).detailsJson), { repairs: ['fence', 'commas', 'quotes'] }, 'the repairs');
    return 'the three lines are those of the file';
  },

  async retry(evidence) {
    const call = await only(evidence, 'count_words');
    const { extension } = JSON.parse(call.arguments);
    const counted = texts(`{src,proto,docs}/**/*${extension}`).map(
      (file) => file.split(/\s+/).filter(Boolean).length,
    );
    equal(call.attempt, 2, 'attempts');
    equal(structured(call), { words: sum(counted), files: counted.length }, 'the result');
    return `2 attempts, and ${sum(counted)} words, counted again`;
  },

  async deadline(evidence) {
    const call = await only(evidence, 'await_change');
    const { mayHaveTakenEffect } = failed(call, 'run_timeout', 1);
    equal(mayHaveTakenEffect, true, 'the failure says that it may have taken effect');
    const note = JSON.parse(await noteOf(join(evidence.workspace, `stopped-${call.callId}.json`)));
    equal(note, { callId: call.callId, reason: 'deadline' }, 'the note that the handler left');
    return 'the handler left its note: deadline';
  },

  async output(evidence) {
    failed(await only(evidence, 'count_lines'), 'invalid_output', 1);
    return 'no result was recorded';
  },

  async picture(evidence) {
    const call = await only(evidence, 'draw_file');
    const { path } = JSON.parse(call.arguments);
    const [block, ...more] = resultOf(call).content;
    equal(more.length, 0, 'further blocks');
    if (block?.kind.case !== 'blob') throw new Error(`expected a blob, and it is ${block?.kind.case}`);
    const { uri, mimeType, sizeBytes } = block.kind.value;
    const bytes = await buffer(evidence.client.readBlob(uri));
    equal(mimeType, 'image/png', 'the media type');
    equal(bytes.length, Number(sizeBytes), 'the size');
    equal(uri, `blob:sha256-${createHash('sha256').update(bytes).digest('hex')}`, 'the hash of its bytes');
    const lines = content(path).trimEnd().split('\n');
    const { width, height, isDark } = readPng(bytes);
    equal(height, lines.length, 'the height');
    lines.forEach((line, y) => {
      for (let x = 0; x < width; x += 1) {
        equal(isDark(x, y), /\S/.test(line.charAt(x)), `the pixel ${x}, ${y} is dark`);
      }
    });
    return `${width} × ${height} pixels, each as in the file`;
  },

  async parallel({ client, callIds }) {
    equal(callIds.length, 8, 'calls');
    const calls = await Promise.all(callIds.map((callId) => client.get(callId)));
    const spans = calls.map((call) => {
      equal(call.attempt, 1, 'attempts');
      const { words, startedAt, endedAt } = structured(call);
      const { folder } = JSON.parse(call.arguments);
      const counted = texts(`${folder}/**/*.ts`).map((file) => file.split(/\s+/).filter(Boolean).length);
      equal(words, sum(counted), `the words of ${folder}`);
      return { startedAt, endedAt };
    });
    const together =
      Math.min(...spans.map(({ endedAt }) => endedAt)) - Math.max(...spans.map(({ startedAt }) => startedAt));
    if (!(together > 0)) throw new Error('the calls did not all run at the same time');
    return `all eight at once for ${Math.round(together)} ms`;
  },
};

/** The step's one call, which has ended and is of this tool. */
async function only({ client, callIds }: Evidence, tool: string): Promise<Call> {
  equal(callIds.length, 1, 'calls');
  const call = await client.get(callIds[0] ?? '');
  equal(call.name, tool, 'the tool');
  equal(call.status, CallStatus.UNSPECIFIED, 'the state');
  return call;
}

function resultOf({ outcome }: Call) {
  if (outcome.case === 'error')
    throw new Error(`expected a result, and it failed with ${outcome.value.code}`);
  if (outcome.case === undefined) throw new Error('expected a result, and it has not ended');
  equal(outcome.value.isError, false, 'the result is an error');
  return outcome.value;
}

function structured(call: Call) {
  return JSON.parse(resultOf(call).structuredJson ?? 'null');
}

function textOf(call: Call): string {
  return resultOf(call)
    .content.map(({ kind }) => (kind.case === 'text' ? kind.value.text : ''))
    .join('');
}

function failed({ outcome, attempt }: Call, code: string, attempts: number) {
  if (outcome.case !== 'error') throw new Error(`expected ${code}, and it has ${outcome.case ?? 'no end'}`);
  equal(outcome.value.code, code, 'the code');
  equal(attempt, attempts, 'attempts');
  return outcome.value;
}

/** The handler writes it when it is told to stop, which is a moment after the call has ended. */
async function noteOf(path: string): Promise<string> {
  for (let tries = 0; tries < 50; tries += 1) {
    const note = await readFile(path, 'utf8').catch(() => '');
    if (note !== '') return note;
    await sleep(20);
  }
  throw new Error('the handler left no note that it was told to stop');
}

function content(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function texts(pattern: string): readonly string[] {
  const paths = globSync(pattern, { cwd: ROOT });
  if (paths.length === 0) throw new Error(`no file matches ${pattern}`);
  return paths.map(content);
}

function occurrences(haystack: string, needle: string): number {
  let count = 0;
  for (let at = haystack.indexOf(needle); at >= 0; at = haystack.indexOf(needle, at + needle.length))
    count += 1;
  return count;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function equal(found: unknown, expected: unknown, what: string): void {
  const [is, should] = [JSON.stringify(found), JSON.stringify(expected)];
  if (is !== should) throw new Error(`${what}: expected ${should}, and it is ${is}`);
}
