import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const [, threats = ''] = readFileSync(resolve(ROOT, 'docs/security.md'), 'utf8').split('## What is defended');
const lines = [...threats.matchAll(/^\| (?!Threat|-)(.*?) +\| (.*?) +\| (.*?) +\|$/gm)].map(
  ([, threat = '', , tests = '']) => ({
    threat,
    tests: [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  }),
);

describe('the threats of docs/security.md', () => {
  it('each name tests that are there', () => {
    expect(lines.length).toBeGreaterThan(15);
    for (const { threat, tests } of lines) {
      expect([threat, tests.length > 0]).toEqual([threat, true]);
      for (const path of tests) expect([path, existsSync(resolve(ROOT, 'test', path))]).toEqual([path, true]);
    }
  });

  it('leave no test of access out', () => {
    const named = new Set(lines.flatMap(({ tests }) => tests));
    for (const file of ['audit', 'credentials', 'expiry', 'exposure', 'floods', 'limits', 'tenants', 'tls'])
      expect(named).toContain(`e2e/access/${file}.test.ts`);
  });
});
