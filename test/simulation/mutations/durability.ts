import { type Mutation, mutation } from './mutation.ts';

const RUNNER = 'src/engine/session-runner.ts';

/** Rules of section 7, and who may learn of what when. */
export const DURABILITY: readonly Mutation[] = [
  mutation(
    '7.1',
    'acknowledges an answer before the append',
    'src/engine/worker-events.ts',
    '      runner.send(command, (outcome) => {\n        const ruling',
    "      acknowledge(from, leaseToken, AnswerVerdict.RECORDED, '');\n      runner.send(command, (outcome) => {\n        const ruling",
  ),
  mutation(
    '7.1',
    'sends a dispatch before the append',
    RUNNER,
    '    this.#appending = true;\n    const head',
    '    this.#appending = true;\n    this.session = session;\n    this.#perform();\n    const head',
  ),
  mutation(
    '7.1',
    'tells watchers before the append',
    RUNNER,
    '    this.#appending = true;\n    const head',
    '    this.#appending = true;\n    this.#announce(events);\n    const head',
  ),
  mutation(
    '7.3',
    'takes a conflict for a success',
    RUNNER,
    'this.#drop(letters, undefined);',
    'this.#commit(session, events, letters, outcomes);',
  ),
  mutation(
    '7.3',
    'keeps the alarms of a session that another engine took over',
    RUNNER,
    '      if (ok) this.#perform();',
    '      if (ok !== undefined) this.#perform();',
  ),
  mutation(
    '7.4',
    'goes on after a commit that broke off',
    'src/engine/engine.ts',
    'createRefuse(observer, fail)',
    'createRefuse(observer, () => undefined)',
  ),
  mutation(
    '7.2',
    'lets the time of a session go back',
    'src/core/session.ts',
    'return Math.max(now, session.occurredAt);',
    'return now;',
  ),
  mutation(
    '5.8',
    'fires deadlines at recovery before the grace',
    'src/engine/recovery.ts',
    'runner.resume(runningLeases(runner).length > 0 ? graceUntil : 0)',
    'runner.resume(0)',
  ),
  mutation(
    '4.12',
    'refuses a call id that is on record and not in memory',
    RUNNER,
    `    for (const { reply } of waiting) reply({ ok: false, refusal });
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const watcher of watchers) watcher.lost(refusal);
    const followers`,
    `    const watchers = this.#watchers;
    this.#watchers = [];
    for (const { reply } of waiting) reply({ ok: false, refusal });
    for (const watcher of watchers) watcher.lost(refusal);
    const followers`,
  ),
  mutation(
    '5.7',
    'gives no verdict to an answer whose session moved',
    'src/engine/worker-events.ts',
    "else if (!outcome.ok && outcome.refusal.reason === 'session_moved' && retry && !shared.stopping)",
    'else if (!outcome.ok && retry && frame.outcome.case === undefined)',
  ),
];
