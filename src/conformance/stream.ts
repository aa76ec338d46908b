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
import { within } from './deadline.ts';
import { show } from './rule.ts';

export type Kind = NonNullable<WorkerFrame['kind']['case']>;
type Frames = { readonly [K in Kind]: Extract<WorkerFrame['kind'], { case: K }>['value'] };
export type Frame<K extends Kind> = Frames[K];

/** One stream of the worker under test, as the harness sees it. */
export interface Stream {
  /** Everything that came, in order. */
  readonly received: readonly WorkerFrame[];
  /** How the worker ended it: `half_closed`, or that it is gone. */
  readonly ended: Promise<'half_closed' | 'gone'>;
  /** Writes frames in one message. */
  send(...kinds: EngineFrame['kind'][]): void;
  /** Writes a message as it is. */
  write(message: ConnectResponse): void;
  /** The next frame of a kind that nobody has taken yet; others stay where they are. */
  next<K extends Kind>(kind: K, expected: string, matches?: (frame: Frame<K>) => boolean): Promise<Frame<K>>;
  /** Takes a frame that came already. */
  taken<K extends Kind>(kind: K, matches?: (frame: Frame<K>) => boolean): Frame<K> | undefined;
  /** The hello, which has to be the first frame. */
  hello(): Promise<Hello>;
  /** The answer to a dispatch; acknowledged unless told otherwise. */
  answer(leaseToken: string, options?: { readonly acknowledge?: AnswerVerdict | false }): Promise<Answer>;
  /** Waits until a dispatch is answered, which is acknowledged, or given back. */
  over(leaseToken: string): Promise<'answered' | 'rejected'>;
  end(refusal?: Refusal): void;
}

export function createStream(duplex: Duplex<ConnectRequest, ConnectResponse>, patienceMs: number): Stream {
  const received: WorkerFrame[] = [];
  const untaken: WorkerFrame[] = [];
  const ended = Promise.withResolvers<'half_closed' | 'gone'>();
  let waiting: (() => void)[] = [];

  duplex.onMessage(({ frames }) => {
    received.push(...frames);
    untaken.push(...frames);
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  });
  duplex.onEnd(() => ended.resolve('half_closed'));
  duplex.onGone(() => ended.resolve('gone'));

  const taken = <K extends Kind>(
    kind: K,
    matches: (frame: Frame<K>) => boolean = () => true,
  ): Frame<K> | undefined => {
    for (const [index, frame] of untaken.entries()) {
      const value = valueIn(frame, kind);
      if (value === undefined || !matches(value)) continue;
      untaken.splice(index, 1);
      return value;
    }
    return undefined;
  };

  const came = (): string => {
    const kinds = received.slice(-SHOWN_FRAMES).map(({ kind }) => kind.case ?? 'unknown');
    return kinds.length === 0 ? 'no frame' : `the frames ${kinds.join(', ')}`;
  };

  /** Looks again with everything that comes, until it finds something. */
  const find = <T>(expected: string, look: () => T | undefined): Promise<T> => {
    const looking = async (): Promise<T> => {
      for (;;) {
        const found = look();
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    };
    return within(patienceMs, expected, looking(), came);
  };

  const next: Stream['next'] = (kind, expected, matches) => find(expected, () => taken(kind, matches));

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

const SHOWN_FRAMES = 8;

/** The frame's value, where it is of that kind. TypeScript cannot see that case and value belong together here. */
function valueIn<K extends Kind>({ kind }: WorkerFrame, wanted: K): Frame<K> | undefined {
  return kind.case === wanted ? (kind.value as Frame<K>) : undefined;
}

/** What an answer says, for the report. */
export function saying(answer: Answer): string {
  const { outcome } = answer;
  return outcome.case === undefined
    ? 'an answer without an outcome'
    : `${outcome.case} ${show(outcome.value)}`;
}
