import { openBench } from './bench.ts';
import { openPeer } from './engine/peer.ts';
import { ENGINE_RULES } from './engine/rules.ts';
import { Mismatch, type Rule } from './rule.ts';
import { ANSWER_RULES } from './rules/answers.ts';
import { DRAIN_RULES } from './rules/drain.ts';
import { HELLO_RULES } from './rules/hello.ts';
import { LIVENESS_RULES } from './rules/liveness.ts';
import { RESUME_RULES } from './rules/resume.ts';

/** Every rule that concerns workers, in the order in which they are checked. */
export const RULES: readonly Rule[] = [
  ...HELLO_RULES,
  ...ANSWER_RULES,
  ...LIVENESS_RULES,
  ...RESUME_RULES,
  ...DRAIN_RULES,
];

export interface Finding {
  readonly section: string;
  readonly title: string;
  readonly passed: boolean;
  /** Set where the rule failed. */
  readonly expected?: string;
  readonly came?: string;
  /** The end of what the worker printed, where the rule failed. */
  readonly output?: string;
  readonly millis: number;
}

export interface SuiteOptions {
  readonly command: readonly string[];
  /** Only rules of this section, or with this title. */
  readonly only?: string | undefined;
  /** How long the worker has for its next frame, in milliseconds. Default FRAME_TIMEOUT_MS. */
  readonly patienceMs?: number;
  /** Ends the suite, and the worker with it: the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Hears of each finding as it comes. */
  readonly found?: (finding: Finding) => void;
}

/**
 * Checks a worker. Each rule gets a process of its own, so that one failure says nothing about the next rule. Rejects
 * with an UnstartableError where the command cannot be run.
 */
export async function runSuite({
  command,
  only,
  patienceMs,
  signal = NEVER,
  found = () => undefined,
}: SuiteOptions): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const rule of RULES.filter((one) => isChosen(one, only))) {
    signal.throwIfAborted();
    const finding = await checkRule(rule, command, patienceMs, signal);
    signal.throwIfAborted();
    found(finding);
    findings.push(finding);
  }
  return findings;
}

async function checkRule(
  rule: Rule,
  command: readonly string[],
  patienceMs: number | undefined,
  signal: AbortSignal,
): Promise<Finding> {
  const { section, title } = rule;
  const started = performance.now();
  const bench = await openBench(command, patienceMs);
  const millis = (): number => Math.round(performance.now() - started);
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  // It may have come while the worker was started.
  if (signal.aborted) abort();
  try {
    const checked = rule.check(bench);
    await Promise.race([checked, aborted.promise]);
    return { section, title, passed: true, millis: millis() };
  } catch (error) {
    return {
      section,
      title,
      passed: false,
      millis: millis(),
      output: bench.process.output(),
      ...reasonOf(error),
    };
  } finally {
    signal.removeEventListener('abort', abort);
    await bench.close();
  }
}

const NEVER = new AbortController().signal;

/** No engine is where one should be checked. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/**
 * Checks an engine from the other side: what its workers and callers may rely on. Rejects with an UnreachableError
 * where nobody answers.
 */
export async function runEngineSuite(
  address: string,
  only?: string,
  found: (finding: Finding) => void = () => undefined,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  if (!(await isThere(address))) throw new UnreachableError(`No engine answers at ${address}.`);
  for (const rule of ENGINE_RULES.filter((one) => isChosen(one, only))) {
    const started = performance.now();
    const peer = openPeer(address);
    const { section, title } = rule;
    const failed = await rule.check(peer).then(() => undefined, reasonOf);
    peer.close();
    const millis = Math.round(performance.now() - started);
    const finding: Finding = { section, title, passed: failed === undefined, millis, ...failed };
    found(finding);
    findings.push(finding);
  }
  return findings;
}

async function isThere(address: string): Promise<boolean> {
  const peer = openPeer(address);
  try {
    return await peer.isThere();
  } finally {
    peer.close();
  }
}

function isChosen(
  rule: { readonly section: string; readonly title: string },
  only: string | undefined,
): boolean {
  return only === undefined || only === rule.section || only === rule.title;
}

function reasonOf(error: unknown): { readonly expected: string; readonly came: string } {
  if (error instanceof Mismatch) return { expected: error.expected, came: error.came };
  return { expected: 'a peer that serves', came: error instanceof Error ? error.message : String(error) };
}
