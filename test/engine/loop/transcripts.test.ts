/**
 * Conversations as text: test/transcripts holds what goes in and what comes out. `SPINDLE_REWRITE=1` writes what comes
 * out now; look at the difference before you keep it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatTranscript, parseTranscript } from './transcript/parse.ts';
import { play } from './transcript/play.ts';

const folder = resolve(import.meta.dirname, '../../transcripts');
const rewrite = process.env['SPINDLE_REWRITE'] === '1';
const files = readdirSync(folder).filter((name) => name.endsWith('.txt'));

describe('transcripts', () => {
  it('are there', () => {
    expect(files.length).toBeGreaterThan(20);
  });
});

describe.each(files)('%s', (file) => {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  const transcript = parseTranscript(text);

  it(transcript.title, async () => {
    const { outputs, engine } = await play(transcript);
    const played = formatTranscript(transcript, outputs);
    if (rewrite && played !== text) writeFileSync(path, played);
    else expect(played).toBe(text);
    expect(engine.failures).toEqual([]);
    expect(engine.reports.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it.skipIf(transcript.restartsDiffer !== undefined)(
    'ends in the same way wherever the engine is killed',
    async () => {
      const { end, appends } = await play(transcript);
      for (let killAt = 1; killAt <= appends; killAt += 1) {
        const killed = await play(transcript, killAt);
        expect({ killAt, end: killed.end }).toEqual({ killAt, end });
      }
    },
  );
});
