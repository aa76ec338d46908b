import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLog, type LogOptions } from '../../src/telemetry/log.ts';

/** What a log writes for three reports. */
function written(options: Pick<LogOptions, 'level' | 'pretty'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'spindle-log-'));
  const path = join(folder, 'log');
  const descriptor = openSync(path, 'a');
  const log = createLog({ ...options, colour: false, descriptor });
  log.report('info', 'worker_connected', { worker: 'demo', tools: 3 });
  log.report('warn', 'worker_silent', { worker: 'demo' });
  log.report('error', 'journal_failed', { error: 'the disk is gone' });
  const text = readFileSync(path, 'utf8');
  closeSync(descriptor);
  rmSync(folder, { recursive: true });
  return text;
}

describe('the log', () => {
  it('is written, one JSON object a line, before a report returns', () => {
    const lines = written({ level: 'info', pretty: false })
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(lines).toEqual([
      { level: 'info', time, event: 'worker_connected', worker: 'demo', tools: 3 },
      { level: 'warn', time, event: 'worker_silent', worker: 'demo' },
      { level: 'error', time, event: 'journal_failed', error: 'the disk is gone' },
    ]);
  });

  it.each([
    ['info', 3],
    ['warn', 2],
    ['error', 1],
    ['silent', 0],
  ] as const)('at level %s writes %i of info, warn and error', (level, count) => {
    expect(written({ level, pretty: false }).split('\n').filter(Boolean)).toHaveLength(count);
  });

  it('is one line a report for people, too', () => {
    const text = written({ level: 'info', pretty: true });
    expect(text.trim().split('\n')).toHaveLength(3);
    expect(text).toMatch(/INFO: worker_connected \{"worker":"demo","tools":3\}/);
  });
});
