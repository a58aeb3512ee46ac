import { expect, test } from "bun:test";
import { createPause } from "#runtime/slices";

const SLICE = 5;
const LOOPS = 20;
const ROUNDS = 10;

/** Keeps the processor busy for about half a slice. */
function step() {
  const until = performance.now() + SLICE / 2;
  while (performance.now() < until);
}

test("of many long loops at once, few keep the event loop before others have their turn", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const loop = async () => {
    const pause = createPause();
    for (let round = 0; round < ROUNDS; round++) {
      await pause();
      step();
    }
  };
  await Promise.all(Array.from({ length: LOOPS }, loop));
  clearInterval(timer);
  // Without turns, all of them run between two of the timer's, and it has as many as each loop has pauses.
  expect(turns).toBeGreaterThan(LOOPS);
});
