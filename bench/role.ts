/** The side of a measured process: it says where it listens, and answers what bench.ts asks, one at a time. */

/** How much a caller makes: for a time, or a number of calls. */
export interface Load {
  readonly tool: string;
  /** Calls that are in flight at any moment. */
  readonly inFlight: number;
  readonly until: { readonly milliseconds: number } | { readonly calls: number };
}

/** What a load came to. Latencies are in milliseconds. */
export interface LoadResult {
  readonly calls: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
}

/** What a process uses. */
export interface Usage {
  /** Of all its threads, since it began. */
  readonly cpuSeconds: number;
  /** What its objects and buffers take, in bytes, after a collection where it was asked for one. */
  readonly liveBytes: number;
  /** Sockets, timers and whatever else keeps an event loop busy. */
  readonly handles: number;
}

/** Answers that a role gives. One that cannot make calls has no `load` and no `open`. */
export interface Role {
  /** HOST:PORT, where the process listens. */
  readonly address?: string;
  /** Makes calls until the load is over. */
  load?(load: Load): Promise<LoadResult>;
  /** Makes this many calls of a tool and waits for none of them. */
  open?(tool: string, calls: number): void;
  /** What has come so far. */
  count?(): number;
}

export type Question =
  | { readonly kind: 'usage'; readonly collect: boolean }
  | { readonly kind: 'load'; readonly load: Load }
  | { readonly kind: 'open'; readonly tool: string; readonly calls: number }
  | { readonly kind: 'count' };

/** What a role says first. */
export interface Ready {
  readonly address: string;
}

/** Takes questions from now on. The process ends with its parent. */
export function serveRole(role: Role): void {
  process.on('disconnect', () => process.exit());
  process.on('message', (question: Question) => {
    answer(role, question).then(
      (value) => process.send?.(value),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.send?.({ address: role.address ?? '' } satisfies Ready);
}

async function answer(role: Role, question: Question): Promise<unknown> {
  switch (question.kind) {
    case 'usage':
      return usage(question.collect);
    case 'load':
      if (role.load === undefined) throw new Error('this process makes no calls');
      return await role.load(question.load);
    case 'open':
      if (role.open === undefined) throw new Error('this process makes no calls');
      role.open(question.tool, question.calls);
      return {};
    case 'count':
      if (role.count === undefined) throw new Error('this process counts nothing');
      return role.count();
  }
}

function usage(collect: boolean): Usage {
  if (collect) {
    if (globalThis.gc === undefined) throw new Error('start the process with --expose-gc');
    // What the first frees, finalizers included, the second counts.
    globalThis.gc();
    globalThis.gc();
  }
  const { user, system } = process.cpuUsage();
  const { heapUsed, external } = process.memoryUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    liveBytes: heapUsed + external,
    handles: process.getActiveResourcesInfo().length,
  };
}
