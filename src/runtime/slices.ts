/** Longest time in ms that a loop keeps the event loop, besides the one step that is under way. */
const SLICE_MS = 5;

/** Loops take turns: however many there are, requests are answered after each slice. */
let turn: Promise<unknown> = Promise.resolve();

/** Returns a function to await in each step of a long loop: it lets other requests in when the time slice is used up. */
export function createPause() {
  let since = performance.now();
  return function pause(): Promise<void> | undefined {
    if (performance.now() - since < SLICE_MS) return;
    const ours = turn.then(() => Bun.sleep(0));
    turn = ours;
    return ours.then(() => {
      since = performance.now();
    });
  };
}
