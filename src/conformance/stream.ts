import { create } from '@bufbuild/protobuf';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import {
  AcknowledgeSchema,
  type Answer,
  type ConnectRequest,
  type ConnectResponse,
  ConnectResponseSchema,
  type EngineFrame,
  EngineFrameSchema,
  type Hello,
  type WorkerFrame,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Refusal } from '../core/refusal.ts';
import type { Duplex } from '../rpc/handlers.ts';
import { createInbox, type Inbox } from './inbox.ts';
import { show } from './rule.ts';

/** One stream of the worker under test, as the harness sees it. */
export interface Stream extends Pick<Inbox<WorkerFrame>, 'received' | 'next' | 'taken'> {
  /** How the worker ended it: `half_closed`, or that it is gone. */
  readonly ended: Promise<'half_closed' | 'gone'>;
  /** Writes frames in one message. */
  send(...kinds: EngineFrame['kind'][]): void;
  /** Writes a message as it is. */
  write(message: ConnectResponse): void;
  /** The hello, which has to be the first frame. */
  hello(): Promise<Hello>;
  /** The answer to a dispatch; acknowledged unless told otherwise. */
  answer(leaseToken: string, options?: { readonly acknowledge?: AnswerVerdict | false }): Promise<Answer>;
  /** Waits until a dispatch is answered, which is acknowledged, or given back. */
  over(leaseToken: string): Promise<'answered' | 'rejected'>;
  end(refusal?: Refusal): void;
}

export function createStream(duplex: Duplex<ConnectRequest, ConnectResponse>, patienceMs: number): Stream {
  const { received, receive, taken, next, find } = createInbox<WorkerFrame>(patienceMs);
  const ended = Promise.withResolvers<'half_closed' | 'gone'>();

  duplex.onMessage(({ frames }) => receive(frames));
  duplex.onEnd(() => ended.resolve('half_closed'));
  duplex.onGone(() => ended.resolve('gone'));

  const send: Stream['send'] = (...kinds) => {
    duplex.write(
      create(ConnectResponseSchema, { frames: kinds.map((kind) => create(EngineFrameSchema, { kind })) }),
    );
  };

  return {
    received,
    ended: ended.promise,
    send,
    write: (message) => void duplex.write(message),
    next,
    taken,
    hello: () => next('hello', 'a hello'),
    async answer(leaseToken, { acknowledge = AnswerVerdict.RECORDED } = {}) {
      const answer = await next('answer', 'an answer', (frame) => frame.leaseToken === leaseToken);
      if (acknowledge !== false) {
        send({ case: 'acknowledge', value: create(AcknowledgeSchema, { leaseToken, verdict: acknowledge }) });
      }
      return answer;
    },
    over: (leaseToken) =>
      find('an answer or a reject', () => {
        if (taken('reject', (frame) => frame.leaseToken === leaseToken)) return 'rejected';
        if (!taken('answer', (frame) => frame.leaseToken === leaseToken)) return undefined;
        const verdict = AnswerVerdict.RECORDED;
        send({ case: 'acknowledge', value: create(AcknowledgeSchema, { leaseToken, verdict }) });
        return 'answered';
      }),
    end: (refusal) => duplex.end(refusal),
  };
}

/** What an answer says, for the report. */
export function saying(answer: Answer): string {
  const { outcome } = answer;
  return outcome.case === undefined
    ? 'an answer without an outcome'
    : `${outcome.case} ${show(outcome.value)}`;
}
