import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { RULES, runSuite } from '../../src/conformance/suite.ts';
import { BREACHES } from './breaches.ts';

const worker = fileURLToPath(new URL('tampering-worker.ts', import.meta.url));

/** Which rule notices which breach. */
const NOTICED_BY: Readonly<Record<string, string>> = {
  'hello is not first': 'the first frame is a hello of a new process',
  'no name of its own': 'the first frame is a hello of a new process',
  'a tool is missing': 'the hello offers the standard tools with their schemas',
  'no heartbeat at once': 'the welcome is answered by a heartbeat at once',
  'an answer is lost': 'every dispatch is answered once',
  'an answer comes twice': 'every dispatch is answered once',
  'one at a time': 'dispatches run at the same time',
  'values are read and written': 'arguments and values go through byte for byte',
  'the proposal is not taken': 'the proposal is accepted for invalid arguments',
  'retryable is lost': 'a failure carries message, code and retryable',
  'the deferral has no timeout': 'a handler may leave its call open',
  'cancel is ignored': 'cancel stops the handler within its grace',
  'no progress': 'progress is reported in order, and never goes back',
  'progress goes back': 'progress is reported in order, and never goes back',
  'heartbeats name nothing': 'heartbeats name what was read and what is held',
  'heartbeats have read nothing': 'heartbeats name what was read and what is held',
  'the resume token is lost': 'a stream cut before the answer: the same process resumes, and answers',
  'the hello names nothing': 'a stream cut before the answer: the same process resumes, and answers',
  'the answer is not sent again': 'a stream cut before the acknowledgement: the answer is sent again',
  'a verdict ends no duty': 'the verdict stale ends the duty to resend',
  'abandon is ignored': 'a lease that a heartbeat reply abandons is stopped, and still answered',
  'any result is sent': 'an answer beyond the message limit fails that call alone',
  'an unknown trigger is swallowed': 'an unknown trigger is rejected',
  'an unknown frame ends the stream': 'unknown frames and fields are ignored',
  'go-away is ignored': 'go-away: the worker reconnects, and finishes what it holds',
  'it reconnects for ever': 'a worker does not reconnect after INVALID_ARGUMENT',
  'it never reconnects': 'a worker reconnects when the engine is unavailable',
  'the trace ends here': 'call id, attempt and trace context reach the handler',
  'SIGTERM says nothing': 'SIGTERM drains: held work is finished, then the worker leaves with 0',
  'it leaves with an error': 'SIGTERM drains: held work is finished, then the worker leaves with 0',
};

/** A worker that breaks a rule is silent where the suite waits, so the waits are short here. */
const PATIENCE_MS = 5_000;

async function verdict(breach: string, only: string) {
  const command = [process.execPath, worker, breach];
  const [finding, ...more] = await runSuite({ command, only, patienceMs: PATIENCE_MS });
  expect(more).toEqual([]);
  return finding;
}

describe('the conformance suite', () => {
  it('has a rule for every breach that is tried', () => {
    const titles = RULES.map(({ title }) => title);
    expect(Object.keys(NOTICED_BY)).toEqual(BREACHES.filter((breach) => breach !== 'none'));
    expect(Object.values(NOTICED_BY).filter((title) => !titles.includes(title))).toEqual([]);
  });

  describe.concurrent('catches a worker of which', () => {
    it.each(Object.entries(NOTICED_BY))('%s', async (breach, title) => {
      const finding = await verdict(breach, title);
      expect(finding).toMatchObject({ title, passed: false });
    });
  });

  describe.concurrent('passes the same worker without the breach, by the rule that', () => {
    it.each([...new Set(Object.values(NOTICED_BY))])('%s', async (title) => {
      expect(await verdict('none', title)).toMatchObject({ title, passed: true });
    });
  });
});
