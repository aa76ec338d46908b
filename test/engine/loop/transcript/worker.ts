/** A worker of a transcript: it answers as the transcript says, and keeps its answers over streams, as the SDKs do. */

import { create, fromJson, type JsonValue } from '@bufbuild/protobuf';
import { type Decision, DecisionSchema } from '../../../../gen/spindle/v1/action_pb.ts';
import { AnswerVerdict } from '../../../../gen/spindle/v1/result_pb.ts';
import {
  AgentBindingSchema,
  AnswerSchema,
  type ContextLevel,
  type Dispatch,
  HeldLeaseSchema,
  ToolOfferSchema,
} from '../../../../gen/spindle/v1/worker_service_pb.ts';
import { TRIGGERS } from '../../../../src/core/trigger-name.ts';
import { type Outcome, textResult, type VirtualEngine, type VirtualStream } from '../../virtual.ts';
import type { Command } from './parse.ts';
import { agentOf, toolOf } from './values.ts';

interface Held {
  readonly dispatch: Dispatch;
  readonly outcome: Outcome | undefined;
}

export interface TranscriptWorker {
  readonly name: string;
  connect(engine: VirtualEngine): Promise<void>;
  /** The stream breaks; the process lives. */
  vanish(): Promise<void>;
  /** Another process in its place, which knows nothing. */
  replace(): void;
  behave(lines: readonly string[]): void;
  /** Reads and answers what has come; whether there was anything. */
  pump(): Promise<boolean>;
  heartbeat(): Promise<void>;
}

export function createWorker(
  { words, options, input }: Command,
  tell: (line: string) => void,
): TranscriptWorker {
  const [name = 'worker'] = words;
  const tools = input
    .filter((line) => line.startsWith('tool '))
    .map((line) => create(ToolOfferSchema, { tool: toolOf(line.slice(5)) }));
  const triggers = (options['triggers'] ?? '').split(',').filter((trigger) => trigger !== '');
  const config = input.find((line) => line.startsWith('config '));
  const behaviours = new Map<string, readonly string[]>();
  /** Which behaviour an event got: the same again is the same event. */
  const given = new Map<string, number>();
  const counts = new Map<string, number>();
  const held = new Map<string, Held>();
  let stream: VirtualStream | undefined;
  let engineOf: VirtualEngine | undefined;
  let process = 1;
  let streamNumber = 0;
  let resumeToken = '';
  let read = 0;
  let stopped = 0;
  let acknowledged = 0;

  const behave = (lines: readonly string[]): void => {
    for (const line of lines) {
      const [, what, how] = /^(\S+) -> (.*)$/.exec(line) ?? [];
      if (what === undefined || how === undefined) continue;
      behaviours.set(what, how.split(' then '));
      counts.delete(what);
      given.clear();
    }
  };
  behave(input);

  const outcomeOf = (dispatch: Dispatch): Outcome | undefined => {
    const { what, key } = subjectOf(dispatch);
    const list =
      behaviours.get(what) ?? (dispatch.trigger?.kind.case === 'toolExecute' ? ['ok'] : ['accept']);
    const index = given.get(key) ?? counts.get(what) ?? 0;
    if (!given.has(key)) {
      given.set(key, index);
      counts.set(what, index + 1);
    }
    return readOutcome(list[Math.min(index, list.length - 1)] ?? 'ok', dispatch);
  };

  const worker: TranscriptWorker = {
    name,
    behave,
    async connect(engine) {
      engineOf = engine;
      streamNumber += 1;
      read = 0;
      stopped = 0;
      acknowledged = 0;
      const holding = [...held].map(([leaseToken, { outcome }]) =>
        create(HeldLeaseSchema, { leaseToken, answered: outcome !== undefined }),
      );
      const binding = create(AgentBindingSchema, {
        agentId: options['agent'] ?? 'agent',
        triggers,
        context: Number(options['context'] ?? 1) as ContextLevel,
        ...(config === undefined ? {} : { config: agentOf(config.slice(7)) }),
      });
      const agents = options['agent'] === undefined && triggers.length === 0 ? [] : [binding];
      stream = engine.open();
      await stream.send({
        case: 'hello',
        value: {
          instanceId: `${name}-${process}`,
          workerName: name,
          resumeToken,
          streamNumber,
          tools,
          agents,
          held: holding,
          ...(options['max'] === undefined ? {} : { maxInFlight: Number(options['max']) }),
        },
      });
      if (stream.welcome === undefined)
        throw new Error(`${name} is not welcome: ${stream.ended ?? 'no answer'}`);
      resumeToken = stream.welcome.resumeToken;
      for (const { name: tool, reason } of stream.welcome.refusedTools)
        tell(`${name} may not offer ${tool}: ${reason}`);
      for (const token of stream.welcome.abandon) held.delete(token);
      await stream.heartbeat(0, ...held.keys());
      for (const [leaseToken, { outcome }] of held)
        if (outcome !== undefined) await stream.answer(leaseToken, outcome);
    },
    async vanish() {
      await stream?.vanish();
      stream = undefined;
    },
    replace() {
      process += 1;
      streamNumber = 0;
      resumeToken = '';
      held.clear();
    },
    async pump() {
      if (stream === undefined) return false;
      let busy = false;
      if (stream.ended !== undefined && engineOf !== undefined) {
        // It was sent away, after an hour say.
        await worker.connect(engineOf);
        busy = true;
      }
      for (const dispatch of stream.dispatches().slice(read)) {
        read += 1;
        busy = true;
        const outcome = outcomeOf(dispatch);
        held.set(dispatch.leaseToken, { dispatch, outcome });
        if (outcome !== undefined) await stream.answer(dispatch.leaseToken, outcome);
      }
      for (const leaseToken of stream.cancels().slice(stopped)) {
        stopped += 1;
        const lease = held.get(leaseToken);
        if (lease === undefined || lease.outcome !== undefined) continue;
        busy = true;
        tell(`${name} is told to stop ${subjectOf(lease.dispatch).label}`);
        const outcome: Outcome = { case: 'cancelled', value: {} };
        held.set(leaseToken, { ...lease, outcome });
        await stream.answer(leaseToken, outcome);
      }
      for (const { leaseToken, verdict } of stream.acknowledgements().slice(acknowledged)) {
        acknowledged += 1;
        const lease = held.get(leaseToken);
        // Whoever hears what was wrong with a decision answers otherwise.
        if (lease !== undefined && verdict === AnswerVerdict.REFUSED)
          given.delete(subjectOf(lease.dispatch).key);
        held.delete(leaseToken);
      }
      return busy;
    },
    async heartbeat() {
      await stream?.heartbeat(stream.dispatches().at(-1)?.sequence ?? 0, ...held.keys());
    },
  };
  return worker;
}

function subjectOf({ trigger, decisionId, sessionId }: Dispatch): {
  what: string;
  key: string;
  label: string;
} {
  const kind = trigger?.kind;
  if (kind?.case === 'toolExecute') {
    const { name, callId, attempt, resumed } = kind.value;
    const key = `${sessionId} ${callId} ${attempt} ${resumed?.interruptId ?? ''}`;
    return { what: name, key, label: callId };
  }
  if (kind?.case === 'modelExecute') {
    const { callId, attempt } = kind.value;
    return { what: 'model.execute', key: `${sessionId} ${callId} ${attempt}`, label: 'a model call' };
  }
  const what =
    TRIGGERS.find(
      (name) => name.replace(/\.(.)/, (_, letter: string) => letter.toUpperCase()) === kind?.case,
    ) ?? '?';
  return { what, key: `${sessionId} ${decisionId}`, label: what };
}

/** `silent` answers nothing. What is no other word is the text of a result. */
function readOutcome(text: string, dispatch: Dispatch): Outcome | undefined {
  const [word = '', ...rest] = text.split(' ');
  const more = rest.join(' ');
  switch (word) {
    case 'silent':
      return undefined;
    case 'error':
    case 'retryable':
      return {
        case: 'error',
        value: { code: rest[0] ?? '', message: rest.slice(1).join(' '), retryable: word === 'retryable' },
      };
    case 'defer':
      return { case: 'toolDefer', value: {} };
    case 'interrupt':
      return { case: 'interrupt', value: { reason: rest[0] ?? '', payloadJson: rest.slice(1).join(' ') } };
    case 'accept':
      if (rest[0] !== 'with') return { case: 'accept', value: {} };
      return { case: 'decision', value: merged(dispatch.proposed, more.slice(5)) };
    case 'decide':
      return { case: 'decision', value: fromJson(DecisionSchema, JSON.parse(more) as JsonValue) };
    case 'answer': {
      const { outcome } = fromJson(AnswerSchema, JSON.parse(more) as JsonValue);
      return outcome as Outcome;
    }
    case 'echo': {
      const kind = dispatch.trigger?.kind;
      const answer =
        kind?.case === 'toolExecute' ? (kind.value.resumed?.payloadJson ?? kind.value.arguments) : '';
      return textResult(answer);
    }
    default:
      return textResult(text);
  }
}

function merged(proposed: Decision | undefined, json: string): Decision {
  const changes = fromJson(DecisionSchema, JSON.parse(json) as JsonValue);
  const wanted = JSON.parse(json) as Record<string, unknown>;
  return create(DecisionSchema, {
    ...changes,
    messages: [...(proposed?.messages ?? []), ...changes.messages],
    actions: 'actions' in wanted ? changes.actions : (proposed?.actions ?? []),
  });
}
