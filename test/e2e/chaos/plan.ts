/** One deed, in the middle of calls that are made for it. */
export interface Step {
  /** Follows the one before it whatever became of that one; else the fleet has come together again. */
  readonly inARow: boolean;
  /** The calls that may have been made from this step on. */
  readonly allowed: number;
  /** Ends that callers see between this step and its deed. */
  readonly newEnds: number;
  /** Then it waits for this long. */
  readonly waitMs: number;
  readonly deed: Deed;
}

export type Deed =
  /** SIGKILL; a successor starts at once. */
  | { readonly kind: 'kill'; readonly victim: Victim }
  /** SIGSTOP, and SIGCONT after a while. */
  | { readonly kind: 'freeze'; readonly victim: Victim; readonly forMs: number }
  /** SIGTERM; a worker's successor starts beside it, an engine's after it. */
  | { readonly kind: 'drain'; readonly victim: Victim };

/** The engine, or a worker by its place. */
export type Victim = 'engine' | number;

export interface PlanOptions {
  readonly calls: number;
  readonly kills: number;
  readonly workers: number;
  readonly draw: () => number;
}

/** How often a step follows the one before it at once, so that processes are hit while they start and recover. */
const IN_A_ROW = 0.3;
const MAX_WAIT_MS = 40;
const MAX_WAIT_IN_A_ROW_MS = 500;
const MAX_FREEZE_MS = 600;
/** Kills between two deeds of another kind. */
const KILLS_EACH = 3;

/** Engine and workers are killed in turn; between the kills, processes are frozen and drained. */
export function makePlan({ calls, kills, workers, draw }: PlanOptions): Step[] {
  const someWorker = (): number => Math.floor(draw() * workers);
  const deeds: Deed[] = [];
  for (let kill = 0; kill < kills; kill++) {
    deeds.push({ kind: 'kill', victim: kill % 2 === 0 ? 'engine' : someWorker() });
    const turn = (kill + 1) / KILLS_EACH;
    if (!Number.isInteger(turn)) continue;
    const victim = turn % 2 === 0 ? 'engine' : someWorker();
    const freezes = turn % 4 < 2;
    deeds.push(
      freezes ? { kind: 'freeze', victim, forMs: draw() * MAX_FREEZE_MS } : { kind: 'drain', victim },
    );
  }
  const share = calls / (deeds.length + 1);
  return deeds.map((deed, index) => {
    const inARow = index > 0 && draw() < IN_A_ROW;
    return {
      inARow,
      allowed: Math.ceil(share * (index + 1)),
      newEnds: inARow ? 0 : Math.ceil((draw() * share) / 2),
      waitMs: draw() * (inARow ? MAX_WAIT_IN_A_ROW_MS : MAX_WAIT_MS),
      deed,
    };
  });
}
