const STEP = 4;
/** Between linear (4) and quadratic (16). */
export const SUPER_LINEAR = 8;
/** In ms: what is quicker is not told from the noise of the machine. */
const MEASURABLE = 2;

/**
 * Sizes at which a growth is looked at: garbage collection and compilation may meet one of them, a quadratic reader grows too
 * fast at each.
 */
const SIZES = 2;

/**
 * How many times as long `run` takes for an input four times as large: 4 when it is linear, 16 when it is quadratic. Returns 0 where
 * even the largest input takes no time.
 */
export function growthOf<Input>(input: (size: number) => Input, run: (input: Input) => unknown, { from = 64, to = 65_536 } = {}) {
  let least = Number.POSITIVE_INFINITY;
  for (let size = from, sizes = 0; size <= to && sizes < SIZES && least >= SUPER_LINEAR; size *= 2) {
    if (fastest(input(size), run) < MEASURABLE) continue;
    sizes += 1;
    least = Math.min(least, ...Array.from({ length: 3 }, () => fastest(input(STEP * size), run) / fastest(input(size), run)));
  }
  return Number.isFinite(least) ? least : 0;
}

function fastest<Input>(input: Input, run: (input: Input) => unknown) {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const before = process.cpuUsage();
    run(input);
    const { user, system } = process.cpuUsage(before); // not the clock, which runs on while others have the processor
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
}
