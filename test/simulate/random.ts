/** Returns a source of numbers from 0 to 1 that a seed fixes (mulberry32). */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (from: number, to: number) => from + next() * (to - from);
  function pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(next() * items.length)];
    if (item === undefined) throw new Error("There is nothing to pick from.");
    return item;
  }
  return { next, between, pick, isOnce: (probability: number) => next() < probability };
}

export type Random = ReturnType<typeof createRandom>;
