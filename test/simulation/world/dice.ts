/** Every random choice of a simulation: a function of its seed alone. */
export interface Dice {
  /** Uniform in [0, 1). */
  draw(): number;
  /** An integer from `low` to `high`, both included. */
  int(low: number, high: number): number;
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** By weight: one of the names, each as likely as its number says. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T;
  /** Mostly short, sometimes long: the latencies of real networks and disks. */
  latency(usual: number, rare: number): number;
  token(): string;
  /** Dice of their own for one purpose, so that what one part draws shifts nothing in another. */
  fork(purpose: string): Dice;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Mulberry32: 32 bits of state are plenty for the choices of one seed. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  const draw = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (low: number, high: number): number => low + draw() * (high - low);
  const int = (low: number, high: number): number => low + Math.floor(draw() * (high - low + 1));
  return {
    draw,
    int,
    between,
    chance: (probability) => draw() < probability,
    pick(items) {
      const item = items[Math.floor(draw() * items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
    weighted(weights) {
      const names = Object.keys(weights) as (keyof typeof weights)[];
      let left = draw() * names.reduce((sum, name) => sum + weights[name], 0);
      for (const name of names) {
        left -= weights[name];
        if (left < 0) return name;
      }
      throw new Error('nothing to choose from');
    },
    latency: (usual, rare) => (draw() < 0.95 ? between(0, usual) : between(usual, rare)),
    token() {
      let token = '';
      for (let index = 0; index < 22; index++) token += ALPHABET[Math.floor(draw() * 64)];
      return token;
    },
    fork(purpose) {
      let hash = int(0, 0x7fffffff);
      for (const unit of purpose) hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193);
      return createDice(hash >>> 0);
    },
  };
}
