import { describe, expect, it } from 'vitest';
import { createContentRecorder, REDACTED_NAMES } from '../../src/telemetry/content.ts';
import { openEngine } from '../e2e/engine.ts';
import { holding } from '../e2e/holding.ts';
import { textResult } from '../e2e/raw-worker.ts';
import { openReceiver, type Receiver } from './otlp/receiver.ts';

const { text } = createContentRecorder({ redact: REDACTED_NAMES });

describe('content that is recorded', () => {
  it.each([
    ['{"city":"Oslo"}', '{"city":"Oslo"}'],
    ['{"password":"x","n":1}', '{"password":"[redacted]","n":1}'],
    ['{"a":[{"API_KEY":{"deep":1}}]}', '{"a":[{"API_KEY":"[redacted]"}]}'],
    ['{"accessToken":1}', '{"accessToken":"[redacted]"}'],
    ['no JSON at all', 'no JSON at all'],
    ['password=hunter2', '[redacted]'],
  ])('8.5: of %s is %s', (given, recorded) => {
    expect(text(given)).toBe(recorded);
  });

  it('8.5: is capped', () => {
    expect(text(JSON.stringify({ a: 'x'.repeat(100_000) }))).toHaveLength(8_192);
  });

  it('8.5: is nothing where nobody asked for it, and arguments, results and errors where somebody did', async () => {
    await using receiver = await openReceiver('grpc');
    const ended = async (recordContent: boolean): Promise<string> => {
      await using engine = await openEngine({ telemetry: { variables: receiver.variables, recordContent } });
      const { name, worker, work, end } = await holding(engine, {
        arguments: '{"city":"Oslo","token":"abc"}',
      });
      await worker.answer(work.leaseToken, textResult('sunny'));
      await end();
      return spanOf(receiver, name);
    };
    expect(await ended(false)).not.toMatch(/Oslo|sunny/);
    const recorded = await ended(true);
    expect(recorded).toMatch(/Oslo/);
    expect(recorded).toMatch(/sunny/);
    expect(recorded).not.toContain('abc');
  });
});

async function spanOf(receiver: Receiver, name: string): Promise<string> {
  const isIt = (span: Receiver['spans'][number]): boolean => span.name === `execute_tool ${name}`;
  await receiver.until(({ spans }) => spans.some(isIt));
  return JSON.stringify(receiver.spans.find(isIt), (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}
