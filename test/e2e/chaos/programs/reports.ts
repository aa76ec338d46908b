/** What the programs of this folder and the process that started them say to each other. */

/** What a program tells. */
export type Report =
  /** A line that it printed. */
  | { readonly kind: 'line'; readonly text: string }
  /** A worker was welcomed; `at` is milliseconds since the epoch. */
  | { readonly kind: 'connected'; readonly at: number }
  /** A worker was asked to end, and begins to drain. */
  | { readonly kind: 'draining' }
  /** A handler of the gated tool has done its work and waits for `release`. */
  | { readonly kind: 'held'; readonly callId: string }
  /** A caller saw the end of a call, in the form of `seenEnd`. */
  | { readonly kind: 'end'; readonly callId: string; readonly end: string }
  /** A caller was refused, which must not happen to one that waits for long enough. */
  | { readonly kind: 'refused'; readonly callId: string; readonly reason: string }
  /** Every call that was allowed has ended. */
  | { readonly kind: 'reached'; readonly calls: number }
  /** How much a process holds, after garbage was collected. */
  | {
      readonly kind: 'measured';
      readonly heapBytes: number;
      readonly rssBytes: number;
      /** Sockets, timers and the like that keep the event loop busy. */
      readonly resources: number;
      /** Listeners of the process itself. */
      readonly listeners: number;
    };

/** What a program is told. */
export type Order =
  /** The gated tool may go on. */
  | { readonly kind: 'release' }
  /** The caller may have made so many calls by now. */
  | { readonly kind: 'allow'; readonly calls: number }
  | { readonly kind: 'measure' };

export function tell(report: Report): void {
  process.send?.(report);
}

/** What a program does when it is told to. It runs for as long as it may be told more. */
export function onOrder(handle: (order: Order) => void): void {
  process.channel?.ref();
  process.on('message', handle);
}

/** The options that a program was started with. */
export function programOptions<Options>(): Options {
  return JSON.parse(process.argv[2] ?? '{}') as Options;
}
