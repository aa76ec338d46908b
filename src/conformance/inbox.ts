import { within } from './deadline.ts';

/** A frame of either direction, as the contracts have it: a oneof of kinds. */
interface AnyFrame {
  readonly kind: { readonly case: string; readonly value: unknown } | { readonly case: undefined };
}

type KindOf<F extends AnyFrame> = NonNullable<F['kind']['case']>;
type ValueOf<F extends AnyFrame, K extends KindOf<F>> = Extract<F['kind'], { case: K }>['value'];

/** The frames that a peer has sent, for whoever waits for some of them. */
export interface Inbox<F extends AnyFrame> {
  /** Everything that came, in order. */
  readonly received: readonly F[];
  receive(frames: readonly F[]): void;
  /** Takes the first frame of a kind that came already, and that nobody has taken; others stay where they are. */
  taken<K extends KindOf<F>>(kind: K, matches?: (value: ValueOf<F, K>) => boolean): ValueOf<F, K> | undefined;
  /** The same, and waits for it; what did not come in time is a Mismatch. */
  next<K extends KindOf<F>>(
    kind: K,
    expected: string,
    matches?: (value: ValueOf<F, K>) => boolean,
  ): Promise<ValueOf<F, K>>;
  /** Looks again with everything that comes, until it finds something. */
  find<T>(expected: string, look: () => T | undefined): Promise<T>;
}

/** @param patienceMs how long the peer has for what is waited for */
export function createInbox<F extends AnyFrame>(patienceMs: number): Inbox<F> {
  const received: F[] = [];
  const untaken: F[] = [];
  let waiting: (() => void)[] = [];

  const taken: Inbox<F>['taken'] = (kind, matches = () => true) => {
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

  const find: Inbox<F>['find'] = (expected, look) => {
    const looking = async () => {
      for (;;) {
        const found = look();
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    };
    return within(patienceMs, expected, looking(), came);
  };

  return {
    received,
    receive(frames) {
      received.push(...frames);
      untaken.push(...frames);
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    taken,
    next: (kind, expected, matches) => find(expected, () => taken(kind, matches)),
    find,
  };
}

const SHOWN_FRAMES = 8;

/** The frame's value, where it is of that kind. TypeScript cannot see that case and value belong together here. */
function valueIn<F extends AnyFrame, K extends KindOf<F>>({ kind }: F, wanted: K): ValueOf<F, K> | undefined {
  return kind.case === wanted ? (kind.value as ValueOf<F, K>) : undefined;
}
