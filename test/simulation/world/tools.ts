import { image, text } from '../../../src/sdk/content.ts';
import type { ToolContext } from '../../../src/sdk/context.ts';
import type { Tool } from '../../../src/sdk/tool.ts';
import { defineTool } from '../../../src/sdk/tool.ts';
import { ToolError } from '../../../src/sdk/tool-error.ts';
import type { Dice } from './dice.ts';
import type { History } from './history.ts';
import type { Process, Scheduler } from './scheduler.ts';

/** What the tools of a worker's process run with. */
export interface ToolWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly history: History;
  readonly process: Process;
  /** Handlers that hang until somebody lets them go. */
  readonly hung: Set<() => void>;
  /** Once set, every handler answers soon and well: the faults are over. */
  readonly calm: () => boolean;
  /** Told of each handler of a probe: it runs until it is let go. */
  readonly probes: Set<() => void>;
}

/** Tools that every worker offers. */
export const COMMON_TOOLS = ['safe', 'unsafe', 'typed', 'narrow'] as const;

const ARGUMENTS = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
} as const;

/** @param version of the definitions: two versions differ in their digests, and in nothing else (5.11) */
export function toolsOf(world: ToolWorld, version: number, probeName: string): Tool[] {
  const description = `Version ${version}.`;
  const run = (context: ToolContext) => behave(world, context);
  const tools = [
    defineTool({
      name: 'safe',
      description,
      jsonSchema: ARGUMENTS,
      annotations: { idempotent: true },
      retry: { maxAttempts: 4, initialBackoffMs: 500, maxBackoffMs: 5_000 },
      execute: (_, context) => run(context),
    }),
    // Says nothing of itself, so nobody may assume anything (4.2).
    defineTool({ name: 'unsafe', description, jsonSchema: ARGUMENTS, execute: (_, context) => run(context) }),
    defineTool({
      name: 'typed',
      description,
      jsonSchema: ARGUMENTS,
      outputSchema: { type: 'string', pattern: '^run ' },
      execute: async (_, context) => {
        const result = await run(context);
        return world.dice.chance(0.1) && typeof result === 'string' ? `broken ${result}` : result;
      },
    }),
    defineTool({
      name: 'narrow',
      description,
      annotations: { readOnly: true },
      maxConcurrency: 1,
      invalidInput: 'engine',
      jsonSchema: ARGUMENTS,
      execute: (_, context) => run(context),
    }),
    defineTool({
      name: 'alone',
      description,
      jsonSchema: ARGUMENTS,
      annotations: { idempotent: true },
      executionMode: 'sequential',
      execute: (_, context) => run(context),
    }),
    defineTool({
      name: probeName,
      description: 'Shows that a slot is free.',
      execute: () => new Promise<string>((resolve) => world.probes.add(() => resolve('run probe'))),
    }),
  ];
  return tools.map((tool) => observed(world, tool));
}

/** A name that a call has in the whole world: within conversations, ids are good in their session alone. */
export function callName(sessionId: string, callId: string): string {
  return sessionId.startsWith('call:') ? callId : `${sessionId}/${callId}`;
}

/** Puts every run on record: by its lease, which a handler does not know. */
function observed({ history, process }: ToolWorld, tool: Tool): Tool {
  const { handle } = tool;
  if (handle === undefined) return tool;
  return {
    ...tool,
    handle(dispatch, execute, hooks) {
      const { leaseToken, sessionId } = dispatch;
      const { attempt, idempotencyKey } = execute;
      const callId = callName(sessionId, execute.callId);
      history.record({
        kind: 'run_started',
        worker: process.name,
        leaseToken,
        callId,
        attempt,
        idempotencyKey,
      });
      return handle(dispatch, execute, hooks).then((outcome) => {
        history.record({ kind: 'run_ended', worker: process.name, leaseToken, outcome });
        return outcome;
      });
    },
  };
}

const PICTURE = new Uint8Array([137, 80, 78, 71]);

/** What a handler does: quick or slow, well or badly. */
async function behave(world: ToolWorld, context: ToolContext) {
  const { dice, calm } = world;
  if (context.input.status !== 'valid') return 'run on bad arguments';
  await work(world, context);
  if (calm()) return `run ${context.callId}`;
  const outcome = dice.weighted({
    text: 60,
    picture: 4,
    retryable: 12,
    failure: 6,
    error: 3,
    defer: 10,
    interrupt: 3,
    odd: 2,
  });
  switch (outcome) {
    case 'text':
      return `run ${context.callId} ${context.attempt} ${dice.token()}`;
    case 'picture':
      return [text(`run ${context.callId} ${dice.token()}`), image(PICTURE, 'image/png')];
    case 'retryable':
      throw new ToolError('Not now.', {
        retryable: true,
        ...(dice.chance(0.3) ? { retryAfterMs: 700 } : {}),
      });
    case 'failure':
      throw new ToolError('Never.', { code: 'no_such_thing' });
    case 'error':
      throw new Error('a bug of the tool');
    case 'defer':
      return context.defer(dice.chance(0.3) ? { timeoutMs: dice.between(500, 10_000) } : {});
    case 'interrupt':
      return context.interrupt({ reason: 'confirm' });
    case 'odd':
      return undefined;
  }
}

/** Takes its time, reports on the way, and stops when it is asked to: or it does not. */
async function work(world: ToolWorld, context: ToolContext): Promise<void> {
  const { dice, scheduler, process, hung, calm } = world;
  const { signal } = context;
  const length = calm() ? dice.between(1, 50) : dice.weighted({ short: 70, long: 20, longer: 7, hung: 3 });
  const millis =
    typeof length === 'number'
      ? length
      : {
          short: dice.between(1, 300),
          long: dice.between(300, 8_000),
          longer: dice.between(8_000, 45_000),
          hung: 0,
        }[length];
  const obeys = length !== 'hung' && dice.chance(0.7);
  const reports = length === 'long' || length === 'longer' ? dice.int(0, 4) : 0;
  await new Promise<void>((resolve, reject) => {
    if (length === 'hung') hung.add(resolve);
    else scheduler.at(scheduler.now + millis, 'world', process, resolve);
    for (let index = 1; index <= reports; index++) {
      scheduler.at(scheduler.now + (millis * index) / (reports + 1), 'world', process, () =>
        context.progress({
          completed: index,
          total: reports,
          ...(dice.chance(0.5) ? { checkpoint: new Uint8Array([index]) } : {}),
        }),
      );
    }
    if (!obeys) return;
    const stop = (): void => {
      scheduler.at(scheduler.now + dice.latency(50, 5_000), 'world', process, () => reject(signal.reason));
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
